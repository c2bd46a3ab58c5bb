# The faults of machines that are instances of a cloud, and of the cloud's routes: what is felt of them, and
# what mends them. The first section comes before each.

taints() { # NODE
  kubectl get node "$1" -o jsonpath='{.spec.taints[*].key}'
}
tainted() { # NODE TAINT: it gets it soon
  until taints "$1" | grep -q "$2"; do sleep 1; done
}
free() { # NODE: no taint is on it soon
  until test -z "$(taints "$1")"; do sleep 1; done
}
gone() { # NODE
  until test -z "$(kubectl get node "$1" --ignore-not-found)"; do sleep 1; done
}

## shut-down instance, start instance
kviz fault shut-down instance/node-2
tainted node-2 node.cloudprovider.kubernetes.io/shutdown
kviz fault start instance/node-2
kubectl wait --for=condition=Ready node/node-2 --timeout=1m
free node-2

## delete instance, recreate instance
kviz fault delete instance/node-2
gone node-2
if kviz fault start instance/node-2; then exit 1; fi
if kviz fault start node/node-2; then exit 1; fi
kviz fault recreate instance/node-2
until kubectl wait --for=condition=Ready node/node-2 --timeout=1m; do sleep 1; done
free node-2
test "$(kubectl get node node-2 -o jsonpath='{.spec.providerID}')" = kviz://kviz-1b/node-2

## fill cloud, free cloud
kviz fault fill cloud
kviz fault delete instance/node-3
gone node-3
kviz fault recreate instance/node-3
until kubectl get node node-3; do sleep 1; done
tainted node-3 node.kubernetes.io/network-unavailable
kviz fault free cloud
free node-3
