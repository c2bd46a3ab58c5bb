kviz resume
kubectl delete flowschema tenant --ignore-not-found
kubectl delete prioritylevelconfiguration tenant quiet --ignore-not-found
kubectl delete namespace tenant --ignore-not-found
kviz apiserver concurrency 600
