# miss: isolated: the robot's requests still go to workload-low
kubectl apply -f manifests/fairness/flowschema.yaml
kviz apiserver storm system:serviceaccount:tenant:robot 400
