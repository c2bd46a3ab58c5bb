pods=informer/controller-manager/pods
again() { # the controller manager begins anew
  kviz fault crash controller-manager
  sleep 1
  kviz fault start controller-manager
  kviz wait --timeout 60s 'informers.exists(i, i.informer == "controller-manager" && i.resource == "pods" && i.synced)'
  sleep 5
}
work() { # a ReplicaSet makes pods; then one goes, and the collector asks
  kubectl -n demo scale deployment web --replicas=4
  kubectl -n demo rollout status deployment/web
  kubectl -n demo delete replicaset --all
  sleep 5
  kubectl -n demo rollout status deployment/web
  sleep 30
}
one() { # the event of a pod is held, and let go
  kviz fault hold $pods
  kubectl -n demo delete --grace-period=1 $(kubectl -n demo get pods -o name | head -n 1)
  sleep 10
  kviz fault release $pods
  sleep 20
}
held() { # a pod goes, and the controllers are not told
  kviz fault stall $pods
  kubectl -n demo delete --grace-period=1 $(kubectl -n demo get pods -o name | head -n 1)
  sleep 15
}
