# As JSON, in a variable, and with a merge patch between.
old=$(kubectl get configmap settings -n demo -o json)
kubectl patch configmap settings -n demo --type=merge -p '{"data":{"size":"small"}}'
echo "$old" | kubectl replace -f -
