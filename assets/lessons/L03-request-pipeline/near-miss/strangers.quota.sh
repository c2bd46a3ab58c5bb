# miss: forbidden: a 403, but from admission: this user may, and a quota or a policy says no
kubectl --token=nonsense get pods -n demo || true
kubectl create quota few -n demo --hard=configmaps=2
kviz wait --timeout 60s 'has(object("resourcequotas", "demo", "few").status.used)'
kubectl create configmap second -n demo || true
kubectl delete quota few -n demo
