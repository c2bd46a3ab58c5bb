# With etcdctl, and the leader once more on a busy machine, where another may have been elected.
etcdctl defrag --endpoints=$second:2379
awaits "store.members[\"$second\"].dbInUse * 2 > store.members[\"$second\"].dbSize"
etcdctl defrag --endpoints=$leads:2379
now=$(leader)
[ "$now" = "$leads" ] || etcdctl defrag --endpoints=$now:2379
