# miss: leader-last: the leader went before another; the leader comes last, once more
kviz fault defrag member/$leads
awaits "store.members[\"$leads\"].dbInUse * 2 > store.members[\"$leads\"].dbSize"
kviz fault defrag member/$second
