# A smaller quota, another key of the ConfigMap, and a new object that is refused.
kviz fault quota store 1.5MiB
for i in $(seq 1 80); do
  kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null 2>&1 || break
done
kubectl create configmap late -n demo || true
