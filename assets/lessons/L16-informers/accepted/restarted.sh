# An orderly restart, and a pod that was killed for good instead of deleted with grace.
kviz fault restart controller-manager
sleep 10
work
kviz fault stall $pods
kubectl -n demo delete --force --grace-period=0 $(kubectl -n demo get pods -o name | head -n 1)
sleep 10
kviz fault heal store
kviz fault heal $pods
sleep 20
pod=$(kubectl -n demo get pods -o name | head -n 1)
kviz fault hold $pods demo/${pod#pod/}
kubectl -n demo delete --grace-period=1 $pod
sleep 10
kviz fault heal $pods
sleep 20
