# A namespace with nothing of an earlier attempt in it.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap first second typo -n demo --ignore-not-found >/dev/null
kviz wait --timeout 60s 'object("configmaps", "demo", "kube-root-ca.crt") != null'
