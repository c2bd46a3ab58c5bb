kviz fault crash member/$old
kubectl patch deployment web -n demo -p '{"spec":{"replicas":3}}'
