# A scheduling decision in five steps, on five nodes. Each of three steps takes one node out;
# the fourth chooses between the other two, and the fifth binds. The scheduler's pane (6)
# shows it as a matrix of nodes and plugins, kviz why pod/db in words.
while [ "$(kubectl get nodes --no-headers | wc -l)" -lt 5 ]; do kviz node join; sleep 2; done

# node-1 has no SSD, node-2 has no room, node-3 has a taint, node-4 is half full, node-5 is empty.
kubectl label node node-2 node-3 node-4 node-5 disktype=ssd --overwrite >/dev/null
kubectl taint node node-3 dedicated=gpu:NoSchedule --overwrite >/dev/null
on() {
  kubectl run "$1" --image=nginx:1.27 --overrides="{\"spec\":{\"nodeSelector\":{\"kubernetes.io/hostname\":\"$2\"},\"containers\":[{\"name\":\"$1\",\"image\":\"nginx:1.27\",\"resources\":{\"requests\":{\"cpu\":\"$3\",\"memory\":\"$4\"}}}]}}" >/dev/null
}
on full node-2 3500m 3Gi
on half node-4 2 2Gi
kubectl wait --for=condition=Ready pod/full pod/half --timeout=120s >/dev/null
kubectl get nodes -L disktype

kubectl run db --image=nginx:1.27 --overrides='{"spec":{"nodeSelector":{"disktype":"ssd"},"containers":[{"name":"db","image":"nginx:1.27","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}}'
kubectl wait --for=condition=PodScheduled pod/db >/dev/null
echo "1. label:     node-1 is out, it has no disktype=ssd"
echo "2. resources: node-2 is out, it has too little CPU left"
echo "3. taint:     node-3 is out, db does not tolerate dedicated=gpu"
echo "4. score:     node-4 and node-5 are left; the emptier one has more points"
echo "5. bind:      $(kubectl get pod db -o jsonpath='{.metadata.name} is bound to {.spec.nodeName}')"
