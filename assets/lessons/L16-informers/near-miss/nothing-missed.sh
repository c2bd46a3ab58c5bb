# Nobody was kept from hearing of the pod.
again
work
kubectl -n demo delete --grace-period=1 $(kubectl -n demo get pods -o name | head -n 1)
sleep 20
