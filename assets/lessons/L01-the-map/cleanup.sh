kubectl delete deployment --all -n demo --ignore-not-found >/dev/null
kubectl delete pod --all -n demo --ignore-not-found --now >/dev/null
kviz resume
