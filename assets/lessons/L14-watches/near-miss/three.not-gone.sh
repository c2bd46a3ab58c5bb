kubectl create configmap short -n demo --from-literal=text=one
kubectl label configmap short -n demo step=two
