# miss: listed: the scheduler has caches, too; web is the controller manager's business
kviz fault restart scheduler
kviz wait --timeout 60s 'informers.exists(i, i.informer == "scheduler" && i.resource == "pods" && i.synced)'
