# The member that is stopped is not the one in use.
away 3
back
one=$(follower)
two=$(follower $one)
kviz apiserver etcd-servers $one,$(leader)
kviz fault stop member/$two
kubectl create configmap lesson -n demo --from-literal=through=$one
kviz fault start member/$two
settled
