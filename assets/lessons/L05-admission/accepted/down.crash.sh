# The server crashes, and what asks for pods is there before.
kubectl create deployment later -n demo --image=nginx:stable --replicas=0
kviz fault crash $injector
kubectl scale deployment later -n demo --replicas=2
