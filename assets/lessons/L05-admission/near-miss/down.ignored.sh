# miss: refused: the webhook did not answer, and a pod was stored all the same; the policy must still be Fail
failing Ignore
kviz fault stop $injector
kubectl create deployment later -n demo --image=nginx:stable --replicas=2
kviz wait --timeout 60s 'objects("pods", "demo").size() == 3'
