# More changes, and labels.
kviz fault stall informer/controller-manager/configmaps
for i in 1 2 3; do kubectl label configmap note -n demo step=$i --overwrite; done
kviz fault cut informer/controller-manager/configmaps
kviz fault heal informer/controller-manager/configmaps
