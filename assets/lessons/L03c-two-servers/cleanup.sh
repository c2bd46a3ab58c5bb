kviz fault start balancer
kviz fault start apiserver
kviz fault start apiserver/b
kviz apiserver etcd-servers --all >/dev/null
whole
kubectl delete deployment web -n demo --ignore-not-found
kubectl delete configmap lesson -n demo --ignore-not-found
