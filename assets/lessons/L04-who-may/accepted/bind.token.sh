# By a manifest, and asked with the token.
kubectl apply -f - <<EOF
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "viewers", "namespace": "other"},
 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
 "subjects": [{"kind": "ServiceAccount", "name": "my-app", "namespace": "demo"}]}
EOF
token=$(kubectl create token my-app -n demo)
kubectl get configmaps -n other --token=$token
kubectl get configmaps -A --token=$token
