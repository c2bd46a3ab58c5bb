pods=informer/controller-manager/pods
one() { # a pod of web
  kubectl -n demo get pods -o name | head -n 1
}
