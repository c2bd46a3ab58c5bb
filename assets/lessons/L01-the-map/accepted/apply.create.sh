# create instead of apply.
kubectl create -f manifests/deployment.yaml
