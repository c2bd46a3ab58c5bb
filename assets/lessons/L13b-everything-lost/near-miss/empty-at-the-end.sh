# Everything, but for the backup that is never restored.
pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[0].metadata.name}')
unanswered store
revived
kviz fault start store
available
alone $(leader)
emptied backup.db
sleep 30
