background
foreground
orphans
kubectl create deployment web -n demo --image=nginx:stable --replicas=3
adopted
guarded
kubectl patch configmap kept -n demo --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
kubectl create configmap lost -n demo
kubectl patch configmap lost -n demo -p "$nobodys"
kviz wait --timeout 60s 'object("configmaps", "demo", "lost") == null'
