# A namespace with nothing of an earlier attempt in it; and no request for what is not there.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
for name in first second typo; do
  if is "object(\"configmaps\", \"demo\", \"$name\") != null"; then kubectl delete configmap $name -n demo >/dev/null; fi
done
kviz wait --timeout 60s 'object("configmaps", "demo", "kube-root-ca.crt") != null'
