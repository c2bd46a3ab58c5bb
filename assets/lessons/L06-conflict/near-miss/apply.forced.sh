# miss: owned: it is blue now; this write took the field without a check
kubectl patch configmap settings -n demo -p '{"data":{"color":"blue"}}'
