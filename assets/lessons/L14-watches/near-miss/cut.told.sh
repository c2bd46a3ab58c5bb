# miss: behind: the controller manager received it at once; stall its watch first
kubectl patch configmap note -n demo -p '{"data":{"text":"two"}}'
sleep 2
kviz fault cut informer/controller-manager/configmaps
