# A StatefulSet's update goes from the highest ordinal down, one pod at a time. A partition keeps the
# ordinals below it on the old template. The object pane (9) shows each slot: old or new, Ready or not.
images() { kubectl get pods -l app=db -o custom-columns=POD:.metadata.name,IMAGE:.spec.containers[0].image; }
kubectl apply -f manifests/scenarios/db.yaml
kubectl rollout status statefulset/db

echo "1. a newer image, with partition 2: db-3 and db-2 get it, in this order"
kubectl patch statefulset db -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}}}}' >/dev/null
kubectl set image statefulset/db db=nginx:1.28
kubectl rollout status statefulset/db | tail -1
images
kubectl get events --field-selector reason=SuccessfulDelete -o custom-columns=MESSAGE:.message --no-headers

echo "2. partition 0: now db-1, and db-0 last"
kubectl patch statefulset db -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}' >/dev/null
kubectl rollout status statefulset/db | tail -1
images
kubectl get controllerrevisions -l app=db -o custom-columns=NUMBER:.revision --no-headers | sort
