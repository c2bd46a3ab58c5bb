# A 403 all the same, but of admission: a quota, not a missing right.
first
stranger
kubectl create quota few -n demo --hard=configmaps=2
kviz wait --timeout 60s 'has(object("resourcequotas", "demo", "few").status.used)'
kubectl create configmap second -n demo || true
typo
misnamed
late
kubectl delete quota few -n demo
