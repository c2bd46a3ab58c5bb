# The configuration is taken away altogether.
kubectl delete mutatingwebhookconfiguration sidecar-injector
