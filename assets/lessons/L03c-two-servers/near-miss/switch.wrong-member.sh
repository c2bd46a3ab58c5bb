# The member that is stopped is not the one in use.
two=$(follower $one)
kviz fault stop member/$two
kubectl create configmap lesson -n demo --from-literal=through=$one
kubectl delete configmap lesson -n demo
kviz fault start member/$two
