kubectl get namespace tenant >/dev/null 2>&1 || kubectl create namespace tenant
kubectl delete flowschema tenant --ignore-not-found >/dev/null
kubectl delete prioritylevelconfiguration tenant quiet --ignore-not-found >/dev/null
kviz apiserver concurrency 30 >/dev/null
