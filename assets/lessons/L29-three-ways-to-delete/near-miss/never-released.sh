# Everything, but the finalizer is left on.
background
foreground
orphans
kubectl create deployment web -n demo --image=nginx:stable --replicas=3
adopted
guarded
kubectl delete configmap kept -n demo --wait=false
kubectl create configmap lost -n demo
kubectl patch configmap lost -n demo -p "$nobodys"
sleep 10
