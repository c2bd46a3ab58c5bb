# create instead of apply.
kubectl create -f manifests/pod.yaml
