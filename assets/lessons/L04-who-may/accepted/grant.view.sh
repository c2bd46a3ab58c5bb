# A ClusterRole by a RoleBinding allows more than is needed, and in demo alone; asked with the token.
kubectl create rolebinding reads -n demo --clusterrole=view --serviceaccount=demo:my-app
token=$(kubectl create token my-app -n demo)
kubectl get pods -n demo --token=$token
kubectl get pods -n other --token=$token
