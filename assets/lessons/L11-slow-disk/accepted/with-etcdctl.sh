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
# Other members, another slowness, leadership handed over by crash, and etcdctl for the store.
old=$(leader)
for m in c b a; do
  [ $m != $old ] && other=$m
done
kviz fault slow member/$other 400ms
sleep 2
kviz fault heal member/$other
hit 350ms
for m in a b c; do
  [ $m != $old ] && other=$m
done
for try in $(seq 30); do kviz fault lead member/$other && break; sleep 1; done
kviz wait --timeout 60s "store.leader == \"$other\""
sleep 2
kviz fault heal member/$old
kviz fault fill member/$other
kviz wait --timeout 60s "store.members[\"$other\"].diskError != \"\" || !store.members[\"$other\"].up"
kviz fault free member/$other
kviz wait --timeout 60s 'store.leader != ""'
kviz wait --timeout 1ms "store.members[\"$other\"].up" >/dev/null 2>&1 || kviz fault start member/$other
kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == 3 && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
kviz fault quota store 1.5MiB
for i in $(seq 1 120); do
  kubectl annotate configmap settings -n demo n=$i --overwrite >/dev/null 2>&1
  kviz wait --timeout 1ms 'store.alarms.size() > 0' >/dev/null 2>&1 && break
done
kubectl get configmaps -n demo >/dev/null
etcdctl compact $(etcdctl get nothing -w fields | grep '"Revision"' | cut -d: -f2 | tr -d ' ')
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
kviz fault defrag store
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbSize * 2 < store.quota)'
etcdctl alarm disarm
sleep 5
