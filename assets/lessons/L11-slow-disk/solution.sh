hit() { # DURATION: slow down whoever leads, until the writer feels it
  for try in 1 2 3 4 5; do
    old=$(leader)
    for m in a b c; do
      [ $m = $old ] || kviz fault fast member/$m
    done
    kviz fault slow member/$old $1
    sleep 3
    kviz wait --timeout 10s "store.leader == \"$old\" && requests.exists(r, r.name == \"ledger\" && r.took >= duration(\"250ms\"))" && return 0
  done
}
leader() {
  for m in a b c; do
    kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && echo $m
  done
}
old=$(leader)
for m in a b c; do
  [ $m != $old ] && other=$m
done

# A slow follower, then a slow leader.
kviz fault slow member/$other 300ms
sleep 1
kviz fault fast member/$other
hit 300ms
for m in a b c; do
  [ $m != $old ] && other=$m
done
for try in $(seq 30); do kviz fault lead member/$other && break; sleep 1; done
kviz wait --timeout 60s "store.leader == \"$other\""
sleep 1
kviz fault fast member/$old

# A full disk.
kviz fault fill member/$old
kviz wait --timeout 60s "store.members[\"$old\"].diskError != \"\" || !store.members[\"$old\"].up"
kviz fault free member/$old
kviz wait --timeout 1ms "store.members[\"$old\"].up" >/dev/null 2>&1 || kviz fault start member/$old
kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == 3 && store.members.all(m, store.members[m].last == store.members[store.leader].last)'

# The quota.
kviz fault quota store 2MiB
for i in $(seq 1 120); do
  kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null 2>&1
  kviz wait --timeout 1ms 'store.alarms.size() > 0' >/dev/null 2>&1 && break
done
kubectl get configmaps -n demo >/dev/null
kviz fault compact store
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
etcdctl defrag --cluster
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbSize * 2 < store.quota)'
etcdctl alarm disarm
sleep 5
