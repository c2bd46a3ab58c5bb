# miss: forbidden: a 403, but from admission: this user may do it, but a quota or a policy refuses
kubectl --token=nonsense get pods -n demo || true
kubectl create quota few -n demo --hard=configmaps=2
kviz wait --timeout 60s 'has(object("resourcequotas", "demo", "few").status.used)'
kubectl create configmap second -n demo || true
kubectl delete quota few -n demo
