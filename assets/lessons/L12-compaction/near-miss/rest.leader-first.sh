# miss: leader-last: the leader went before another; defragment the leader again as the last one
kviz fault defrag member/$leads
awaits "store.members[\"$leads\"].dbInUse * 2 > store.members[\"$leads\"].dbSize"
kviz fault defrag member/$second
