# One after another.
kviz fault stop member/a
kviz fault stop member/b
kviz fault stop member/c
kubectl get nodes --request-timeout=30s
