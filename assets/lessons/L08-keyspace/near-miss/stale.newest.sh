# miss: conflict: this write was taken; nobody had changed settings since, or it named no resourceVersion
kubectl label configmap settings -n demo seen=yes
kubectl get configmap settings -n demo -o yaml > new.yaml
kubectl replace -f new.yaml
