# Two namespaces, a ServiceAccount that may do nothing, and a Secret that no pod uses.
for n in demo other; do
  kubectl get namespace $n >/dev/null 2>&1 || kubectl create namespace $n
  kubectl delete role,rolebinding --all -n $n --ignore-not-found >/dev/null
done
kubectl delete clusterrolebinding my-app --ignore-not-found >/dev/null
kubectl get serviceaccount my-app -n demo >/dev/null 2>&1 || kubectl create serviceaccount my-app -n demo
kubectl get secret key -n demo >/dev/null 2>&1 || kubectl create secret generic key -n demo --from-literal=opens=everything
kviz wait --timeout 60s 'object("configmaps", "other", "kube-root-ca.crt") != null'
