# A Job whose indexes 2 and 5 fail whenever they are tried. Each has a backoffLimitPerIndex of 1: it is tried
# once more after a while, and then given up; the other indexes succeed. The object pane (9) shows
# every index, and when the controller looks at the Job again.
kubectl apply -f manifests/scenarios/indexes.yaml
kubectl wait --for=condition=Failed job/indexes --timeout=300s
kubectl get job indexes -o jsonpath='succeeded: {.status.completedIndexes}{"\n"}failed:    {.status.failedIndexes}{"\n"}pods that failed: {.status.failed}{"\n"}why: {.status.conditions[?(@.type=="Failed")].message}{"\n"}'
