# miss: isolated: the robot's requests still go to workload-low
kubectl apply -f manifests/fairness/level.yaml
sed 's/matchingPrecedence: 500/matchingPrecedence: 9500/' manifests/fairness/flowschema.yaml | kubectl apply -f -
kubectl wait --for=condition=Dangling=False flowschema/tenant --timeout=60s
kviz apiserver storm system:serviceaccount:tenant:robot 400
