# miss: orphaned: its ReplicaSet was to go, too; the policy has to be Orphan
deployed
kubectl delete deployment web -n demo
empty
