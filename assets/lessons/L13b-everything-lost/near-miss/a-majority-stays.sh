# One member stays down, never all; and one disk is lost, never two.
pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[0].metadata.name}')
kviz fault stop member/a
revived
kviz fault start member/a
available
kviz fault wipe member/$(follower)
kviz fault rejoin member/$(follower)
emptied backup.db
kviz restore backup.db --bump-revision 1000000000 --mark-compacted
voters 3
available
