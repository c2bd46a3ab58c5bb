# miss: not-all: my-app may read everywhere now: ClusterRoleBinding my-app allows it
kubectl create clusterrolebinding my-app --clusterrole=view --serviceaccount=demo:my-app
kubectl get configmaps -n other --as=system:serviceaccount:demo:my-app
kubectl get configmaps -A --as=system:serviceaccount:demo:my-app
