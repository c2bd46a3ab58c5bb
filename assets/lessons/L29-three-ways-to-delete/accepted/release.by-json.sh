kubectl patch configmap $held -n demo --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
