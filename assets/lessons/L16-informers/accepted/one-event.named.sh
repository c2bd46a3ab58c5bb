# Only what is about one pod is held.
pod=$(one)
kviz fault hold $pods demo/${pod#pod/}
kubectl -n demo delete --grace-period=1 $pod
