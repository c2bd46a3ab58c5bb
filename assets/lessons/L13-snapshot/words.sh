copied() { # FILE [FLAG…]: a backup, and a Deployment that comes after it
  etcdctl snapshot save $*
  kubectl create deployment late -n demo --image=nginx:stable
  kubectl rollout status -n demo deployment/late --timeout=180s
}
lost() { # FAULT MEMBER MEMBER: front is deleted, and two members are lost in this way
  kubectl delete deployment front -n demo
  kviz fault $1 member/$2
  kviz fault $1 member/$3
  awaits 'store.leader == "" && !store.quorum.ok'
}
mistaken() { # FILE NAME: a restore for a member that is not in the list
  etcdutl snapshot restore $1 --name $2 --initial-cluster x=http://x:2380,y=http://y:2380 --data-dir wrong && exit 1
}
front() { # front runs, and late does not
  voters 3
  kubectl rollout status -n demo deployment/front --timeout=180s
  awaits 'object("deployments", "demo", "late") == null && nodes.all(n, !nodes[n].pods.exists(p, p.startsWith("demo/late-")))'
}
