# miss: conflict: this write was accepted; settings had not changed since, or it named no resourceVersion
kubectl label configmap settings -n demo seen=yes
kubectl get configmap settings -n demo -o yaml > new.yaml
kubectl replace -f new.yaml
