# With the quota that etcd has by itself nothing is refused.
kviz fault quota store 2GiB
for i in $(seq 1 10); do
  kubectl label configmap settings -n demo n=$i --overwrite
done
