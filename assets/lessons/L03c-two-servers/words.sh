servers() { # EXPRESSION: what comes to hold of the servers behind the balancer
  kviz wait --timeout 60s "$1"
}
away() { # NUMBER: the first server goes, and the Deployment has another number of pods meanwhile
  kviz fault stop apiserver
  kubectl scale deployment web -n demo --replicas=$1
  kubectl rollout status -n demo deployment/web --timeout=180s
  servers 'balancer.servers.exists(s, s.server == "apiserver" && !s.up)'
}
back() {
  kviz fault start apiserver
  servers 'balancer.servers.all(s, s.up)'
}
through() { # MEMBER…: the servers go through these; the first is stopped, and something is written
  kviz apiserver etcd-servers $1,$2
  kviz fault stop member/$1
  elected $1
  kubectl create configmap lesson -n demo --from-literal=through=$2
}
