kviz fault start registry
kubectl delete pod --all -n demo --ignore-not-found --now >/dev/null
kviz resume
