# The whole object, as it is, with the two fields changed.
kubectl get configmap settings -n demo -o json > now.json
kubectl patch -f now.json --local -p '{"data":{"color":"green","shape":"square"}}' -o json > new.json
kubectl replace -n demo -f new.json
