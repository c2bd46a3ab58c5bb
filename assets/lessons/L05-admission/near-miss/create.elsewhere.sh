# miss: injected: this one is in default, the goal says demo
kubectl run web --image=nginx:stable
