# miss: not-there: my-app may read in other, too: ClusterRoleBinding my-app allows it
kubectl create clusterrolebinding my-app --clusterrole=view --serviceaccount=demo:my-app
kubectl get pods -n demo --as=system:serviceaccount:demo:my-app
kubectl get pods -n other --as=system:serviceaccount:demo:my-app
