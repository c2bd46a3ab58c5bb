# A rollout that ends well, and one that stalls: its image is not there. Four pods are wanted; at most
# five are there and at least four are available, all the time. The object pane (9) shows both as
# gauges, and lists the steps.
kubectl apply -f manifests/scenarios/shop.yaml
kubectl rollout status deployment/shop >/dev/null
sets() { kubectl get replicasets -l app=shop --sort-by=.metadata.creationTimestamp -o custom-columns=IMAGE:.spec.template.spec.containers[0].image,WANTED:.spec.replicas,READY:.status.readyReplicas; }

echo "1. a newer image: a new pod is Ready, then an old one goes, four times"
kubectl set image deployment/shop shop=nginx:1.28
kubectl rollout status deployment/shop >/dev/null
sets

echo "2. an image that is not there: the first new pod never gets Ready, so no old one goes"
kubectl set image deployment/shop shop=nginx:no-such-tag
kubectl rollout status deployment/shop
sets
echo "available: $(kubectl get deployment shop -o jsonpath='{.status.availableReplicas} of {.spec.replicas}')"
echo "kubectl rollout undo deployment/shop brings it back"
