kviz fault heal informer/controller-manager/configmaps
kubectl delete configmap short note -n demo --ignore-not-found
kviz resume
