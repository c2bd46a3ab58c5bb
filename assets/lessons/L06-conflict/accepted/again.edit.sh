# The number stays where it is; only the way to the new copy is another.
kubectl get configmap settings -n demo -o json > again.json
kubectl patch -f again.json --local -p '{"data":{"color":"green"}}' -o json | kubectl replace -f -
