# miss: twice: once more, and with another value
kubectl patch configmap settings -n demo -p '{"data":{"color":"green"}}'
kubectl patch configmap settings -n demo -p '{"data":{"color":"green"}}'
