# A ConfigMap that is old, and nothing broken.
kviz fault heal informer/controller-manager/configmaps >/dev/null 2>&1
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap short note -n demo --ignore-not-found >/dev/null
kubectl create configmap note -n demo --from-literal=text=one >/dev/null
kviz wait --timeout 60s 'object("configmaps", "demo", "kube-root-ca.crt") != null'
kviz wait --timeout 60s 'watchers.exists(w, w.client == "controller-manager" && w.resource == "configmaps")'
