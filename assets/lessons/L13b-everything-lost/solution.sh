pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[0].metadata.name}')
unanswered store
revived
kviz fault start store
available
alone $(leader)
emptied backup.db
kviz restore backup.db --bump-revision 1000000000 --mark-compacted
voters 3
kubectl wait --for=condition=Ready nodes --all --timeout=120s
available
