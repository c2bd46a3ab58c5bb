# miss: back: The Deployment is gone, and with it the wish for two pods.
# The pods go as well, and nobody wants new ones.
kubectl delete deployment hello-deploy -n demo
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
