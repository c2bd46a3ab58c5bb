# miss: known: the administrator acted for jane; she herself showed no certificate
kubectl get pods -n demo --as=jane --as-group=dev
