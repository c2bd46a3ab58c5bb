storm
level tenant "{type: Reject}"
schema tenant 500 "$robot"
kubectl wait --for=condition=Dangling=False flowschema/tenant
storm
