# miss: refused: the webhook answered, and a pod was stored with its container; stop it before you ask for pods
# The pods are stored before the webhook is stopped.
kubectl create deployment later -n demo --image=nginx:stable --replicas=2
kviz wait --timeout 60s 'objects("pods", "demo").size() == 3'
kviz fault stop $injector
