leader() {
  for m in a b c; do
    kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && echo $m
  done
}
# The slow disk is mended, and the leadership never moves.
old=$(leader)
for m in a b c; do
  [ $m != $old ] && other=$m
done
kviz fault slow member/$other 300ms
sleep 1
kviz fault fast member/$other
kviz fault slow member/$old 300ms
sleep 2
kviz fault fast member/$old
sleep 1
kviz fault fill member/$other
kviz wait --timeout 60s "store.members[\"$other\"].diskError != \"\" || !store.members[\"$other\"].up"
kviz fault free member/$other
kviz wait --timeout 1ms "store.members[\"$other\"].up" >/dev/null 2>&1 || kviz fault start member/$other
kviz fault quota store 2MiB
for i in $(seq 1 120); do
  kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null 2>&1
  kviz wait --timeout 1ms 'store.alarms.size() > 0' >/dev/null 2>&1 && break
done
kviz fault compact store
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
kviz fault defrag store
kviz fault disarm store
sleep 5
