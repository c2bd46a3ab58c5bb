# The owner of the orphans comes back by kubectl apply, and the finalizer goes by a merge patch.
kubectl delete deployment web -n demo --cascade=background --wait=false
empty
foreground
orphans
kubectl create deployment web -n demo --image=nginx:stable --replicas=2 --dry-run=client -o yaml | kubectl apply -f -
adopted
guarded
kubectl patch configmap kept -n demo --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl create configmap lost -n demo
kubectl patch configmap lost -n demo -p "$nobodys"
kviz wait --timeout 60s 'object("configmaps", "demo", "lost") == null'
