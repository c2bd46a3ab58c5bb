# miss: untied: this user is not in the group system:nodes, so the Node authorizer does not take it for a kubelet
kubectl get secret key -n demo --as=system:node:node-1
