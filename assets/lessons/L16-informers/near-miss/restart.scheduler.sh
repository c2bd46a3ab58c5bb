# miss: listed: the scheduler has caches, too; web belongs to the controller manager
kviz fault restart scheduler
kviz wait --timeout 60s 'informers.exists(i, i.informer == "scheduler" && i.resource == "pods" && i.synced)'
