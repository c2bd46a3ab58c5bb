# miss: orphaned: its ReplicaSet was marked for deletion, too; use the policy Orphan
deployed
kubectl delete deployment web -n demo
empty
