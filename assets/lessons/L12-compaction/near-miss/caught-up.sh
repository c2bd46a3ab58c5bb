# Everything, but the watch that lags finds its history, and catches up.
refused
holes
kviz fault defrag store
awaits 'store.members.all(m, has(store.members[m].defrag) && store.members[m].defrag.done)'
kviz fault defrag member/$(leader)
away
behind
kviz fault heal watch/configmaps
sleep 5
