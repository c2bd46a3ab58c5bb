# The members go and come one by one, and it goes on from one that did not lead.
pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[1].metadata.name}')
unanswered member/a member/b member/c
revived
for m in c a b; do
  kviz fault start member/$m
done
voters 3
available
alone $(follower)
emptied saved.db
kviz restore saved.db --bump-revision 7000 --mark-compacted
voters 3
kubectl wait --for=condition=Ready nodes --all --timeout=120s
available
