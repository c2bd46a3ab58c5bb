# miss: known: the administrator acted for jane; she herself has shown nothing
kubectl get pods -n demo --as=jane --as-group=dev
