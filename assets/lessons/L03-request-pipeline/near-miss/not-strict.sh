# Without strict validation the unknown field is dropped with a warning, and the ConfigMap is stored.
first
stranger
jane
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"typo"},"dat":{}}' | kubectl create -n demo --validate=warn -f - || true
misnamed
late
storm 1 600
