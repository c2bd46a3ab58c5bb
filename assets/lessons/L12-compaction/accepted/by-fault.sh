# By the verbs of faults, which know the order, and with another ConfigMap as what the watch misses.
refused
holes
kviz fault defrag store
awaits 'store.members.all(m, has(store.members[m].defrag) && store.members[m].defrag.done)'
kviz fault defrag member/$(leader)
away
kviz fault stall watch/configmaps
kubectl create configmap after -n demo
kubectl delete configmap after -n demo
awaits 'store.watches.exists(w, w.name == "configmaps" && w.lag > 0)'
kviz fault compact store
kviz fault heal watch/configmaps
sleep 5
