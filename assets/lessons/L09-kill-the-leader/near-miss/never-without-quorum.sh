# The leader dies and comes back, twice, but there was a majority all the time.
crashed
kubectl rollout status -n demo deployment/web --timeout=180s
kviz fault start member/$old
settled
slowly 4
