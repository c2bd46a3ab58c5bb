# miss: refused: nobody answered, and a pod was stored all the same; the policy has to be Fail still
failing Ignore
kviz fault stop $injector
kubectl create deployment later -n demo --image=nginx:stable --replicas=2
kviz wait --timeout 60s 'objects("pods", "demo").size() == 3'
