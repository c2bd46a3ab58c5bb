unanswered() { # MEMBERS…: they go, until the API server gives up
  for m in $*; do kviz fault stop $m; done
  kubectl get pods -n demo --request-timeout=30s >/dev/null
}
revived() { # a container of web dies, and is started again
  kviz fault crash pod/demo/$pod
  sleep 3
  awaits "pod(\"demo/$pod\").containers[\"nginx\"].state == \"running\""
  sleep 3
}
available() { # web has its two pods
  awaits 'store.leader != "" && object("deployments", "demo", "web") != null && object("deployments", "demo", "web").status.availableReplicas == 2'
}
alone() { # MEMBER: the others lose their disks, and it goes on alone; then two join
  for m in a b c; do
    if [ $m != $1 ]; then kviz fault wipe member/$m; fi
  done
  awaits 'store.leader == "" && !store.quorum.ok'
  kviz fault recover member/$1
  awaits "store.leader == \"$1\""
  kubectl get nodes >/dev/null
  grown 3
  kubectl annotate deployment web -n demo lesson=recovered --overwrite
}
emptied() { # FILE: a backup, and then nothing
  etcdctl snapshot save $1
  kviz fault wipe store
  awaits 'store.leader != "" && store.quorum.have == 3 && object("namespaces", "kube-system") != null'
  sleep 5
}
