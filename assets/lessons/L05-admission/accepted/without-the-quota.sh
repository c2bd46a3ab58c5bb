# The webhook crashes, its configuration is taken away altogether, and so is the quota.
web
broken crash
kubectl delete mutatingwebhookconfiguration sidecar-injector
ready 2
crowded
kubectl delete quota few -n demo
ready 4
