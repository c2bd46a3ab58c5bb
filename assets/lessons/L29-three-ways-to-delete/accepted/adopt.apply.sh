# The owner of the orphan comes back by kubectl apply.
kubectl create deployment web -n demo --image=nginx:stable --replicas=2 --dry-run=client -o yaml | kubectl apply -f -
