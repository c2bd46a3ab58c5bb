old=$(number CreateRevision)
etcdctl get $key --rev=$old --keys-only
etcdctl compact $(number Revision)
etcdctl get $key --rev=$old --keys-only && exit 1

# One after another, the leader last, when all have heard of the compaction.
holes
last=$(leader)
for m in a b c; do
  [ $m = $last ] || etcdctl defrag --endpoints=$m:2379
done
awaits "store.members.all(m, m == \"$last\" || has(store.members[m].defrag) && store.members[m].defrag.done)"
etcdctl defrag --endpoints=$last:2379
awaits "store.members[\"$last\"].defrag.done"
now=$(leader) # on a busy machine they may have elected another
[ "$now" = "$last" ] || etcdctl defrag --endpoints=$now:2379

away
awaits 'store.members.all(m, store.members[m].dbInUse * 2 > store.members[m].dbSize)'
lagged
