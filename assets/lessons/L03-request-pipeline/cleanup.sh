kviz apiserver concurrency 600
kubectl delete configmap first second typo -n demo --ignore-not-found
kviz resume
