# There is room, but nobody takes the alarm back: nothing is written.
kviz fault compact store
awaits 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
kviz fault defrag store
awaits 'store.members.all(m, store.members[m].dbSize * 2 < store.quota)'
