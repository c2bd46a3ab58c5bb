# A node joins, and stays empty: the scheduler never moves a pod. The descheduler evicts pods
# from nodes that are full, and the scheduler places their successors on the empty one.
spread() { kubectl get pods -l app=web -o custom-columns=NODE:.spec.nodeName --no-headers | sort | uniq -c; }
kubectl create deployment web --image=nginx:1.27 --replicas=9 --dry-run=client -o yaml | kubectl set resources -f - --requests=cpu=900m --local -o yaml | kubectl apply -f - >/dev/null
kubectl rollout status deployment web >/dev/null
echo "pods by node:"; spread
kviz node join
sleep 30
echo "half a minute later:"; spread
kubectl apply -f manifests/descheduler.yaml >/dev/null
kubectl -n kube-system rollout status deployment descheduler >/dev/null
sleep 100
echo "with the descheduler:"; spread
kubectl -n kube-system logs deployment/descheduler | grep Evicted
