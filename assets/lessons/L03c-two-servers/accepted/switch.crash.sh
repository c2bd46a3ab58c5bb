# The member crashes, and the ConfigMap comes from a manifest.
kviz fault crash member/$one
kviz wait --timeout 60s "store.clients.exists(c, c.client == \"apiserver/b\" && c.to == \"$old\")"
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"lesson"}}' | kubectl create -n demo -f -
kviz fault start member/$one
