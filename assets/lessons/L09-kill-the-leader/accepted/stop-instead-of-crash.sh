# The leader is stopped in an orderly way, with a patch as the write; then both followers go.
old=$(leader)
kviz fault stop member/$old
elected $old
kubectl patch deployment web -n demo -p '{"spec":{"replicas":3}}'
kviz fault start member/$old
settled
slowly 4
two=$(follower)
lost $two $(follower $two)
kubectl create configmap note -n demo --from-literal=a=b && exit 1
kviz fault start store
awaits 'store.quorum.have == 3 && store.leader != ""'
kubectl create configmap note-2 -n demo --from-literal=a=b
