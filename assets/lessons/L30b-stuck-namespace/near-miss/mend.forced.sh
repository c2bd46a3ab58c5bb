# The finalizer is torn off: the namespace is gone, and the API is still away.
kubectl replace --raw /api/v1/namespaces/demo/finalize -f - <<EOF
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}, "spec": {"finalizers": []}}
EOF
