kviz resume
kviz fault heal informer/controller-manager/pods
kviz fault start controller-manager
kubectl delete namespace demo --ignore-not-found
