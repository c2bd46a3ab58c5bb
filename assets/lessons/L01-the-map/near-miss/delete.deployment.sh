# miss: gone: You deleted the Deployment, and all its pods go with it. Press u to undo that, then delete only one pod.
# The pods go as well, and nothing asks for new ones.
kubectl delete deployment hello-deploy -n demo
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
