# The orphans stay orphans: the Deployment that is made has another name, so another selector.
background
foreground
orphans
kubectl create deployment other -n demo --image=nginx:stable
kubectl rollout status deployment other -n demo --timeout=180s
guarded
kubectl patch configmap kept -n demo --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl create configmap lost -n demo
kubectl patch configmap lost -n demo -p "$nobodys"
kviz wait --timeout 60s 'object("configmaps", "demo", "lost") == null'
kubectl delete deployment other -n demo
