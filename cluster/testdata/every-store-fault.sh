# Every fault of the store as a whole, and those of its members that change the
# group or need more than a link or a disk. Like every-fault.sh.

fails() { # COMMAND…
  if "$@"; then echo "this went well, and should not: $*"; return 1; fi
}
says() { # EXPR: it holds soon, also where members take time of the machine
  kviz wait --timeout 10m "$1"
}
whole() { # every voter has what the leader has
  says 'store.leader != "" && store.members.all(n, !store.members[n].up || store.members[n].last >= store.members[store.leader].last) && store.quorum.have == store.quorum.total'
}

##
kubectl create deployment web --image=nginx:1.27 --replicas=2
kubectl rollout status deploy/web --timeout=5m
kviz fault lead member/a
says 'store.leader == "a"'

## power-cut member, start member
kviz fault power-cut member/c
says '!store.members["c"].up'
kubectl create configmap without-c
kviz fault start member/c
whole

## duplicate member
kviz fault duplicate member/a b 1
kubectl create configmap twice
whole
kviz fault heal member/a
whole

## reorder member
kviz fault reorder member/a b 0.5
for i in 1 2 3 4 5; do kubectl create configmap overtaken-$i; done
whole
kviz fault heal member/a
whole

## mute member, heal member
kviz fault mute member/c
kubectl create configmap while-c-is-mute
kviz fault heal member/c
whole

## deafen member, heal member
kviz fault deafen member/c
kubectl create configmap while-c-is-deaf
says 'store.members["c"].last < store.members[store.leader].last'
kviz fault heal member/c
whole

## partition store, heal store
kviz fault lead member/a
kviz fault partition store c
kubectl create configmap in-the-majority
says 'store.members["c"].last < store.members["a"].last'
kviz read /registry/configmaps/default/in-the-majority
says 'store.question.exists(a, a.member == "c" && a.serializable && a.error == "" && a.modRevision == 0)'
says 'store.question.exists(a, a.member == "c" && !a.serializable && a.error != "")'
says 'store.question.exists(a, a.member == "a" && !a.serializable && a.modRevision > 0)'
kviz fault heal store
whole

## snapshot member
for i in 1 2 3 4 5 6 7 8; do kubectl create configmap filler-$i; done
kviz fault snapshot member/b
says 'store.members["b"].snapshotIndex > 0'
whole

## stop store, start store
kviz fault stop store
says 'store.quorum.have == 0'
fails kubectl create configmap nobody --request-timeout=3s
kviz fault start store
whole
kubectl create configmap somebody

## crash store, start store
kviz fault crash store
says 'store.quorum.have == 0'
kviz fault start store
whole
kubectl get configmap somebody

## slow-elections store, fast-elections store
kviz fault slow-elections store 5
kviz fault stop member/a
says 'store.leader != "" && store.leader != "a"'
kviz fault fast-elections store
kviz fault start member/a
whole

## add-learner store, promote member
kviz fault add-learner store
says 'store.members["d"].learner && store.quorum.total == 3'
until kviz fault promote member/d; do sleep 1; done
says '!store.members["d"].learner && store.quorum.total == 4 && store.quorum.need == 3'

## add-voter store
kviz fault add-voter store
says 'store.quorum.total == 5 && store.quorum.need == 3'
whole
kubectl create configmap of-five

## remove member
kviz fault remove member/e
kviz fault remove member/d
says 'store.quorum.total == 3 && store.members["d"].left'
kubectl create configmap of-three
whole

## compact store
kubectl annotate configmap of-three seen=once
kviz fault compact store
says 'store.compacted > 0'

## stall watch, heal watch
kviz fault stall watch/configmaps
kubectl create configmap unheard
kubectl get configmap unheard
kubectl get configmaps | grep -q unheard # after a while: the watch cache does not have it, the store has
says 'store.watches.exists(w, w.name == "configmaps" && w.lag > 0 && w.waiting == 1)'
kviz fault heal watch/configmaps
says 'store.watches.exists(w, w.name == "configmaps" && w.lag == 0)'

## slow watch, fast watch
kviz fault slow watch/configmaps 10s
kubectl create configmap heard-late
kubectl create configmap heard-later
says 'store.watches.exists(w, w.name == "configmaps" && w.waiting == 2)'
sleep 11
says 'store.watches.exists(w, w.name == "configmaps" && w.waiting == 1)'
kviz fault fast watch/configmaps
says 'store.watches.exists(w, w.name == "configmaps" && w.lag == 0)'

## cut watch
since() { kviz wait --timeout 1s "store.watches.exists(w, w.name == 'configmaps' && time - w.since < duration('$1'))"; }
sleep 5
fails since 4s
kviz fault cut watch/configmaps
kubectl create configmap heard-again
since 4s
says 'store.watches.exists(w, w.name == "configmaps" && w.lag == 0)'
kubectl get configmaps | grep -q heard-again

## defrag member, defrag store
kviz fault defrag member/b
says 'store.members["b"].defrag.done'
kviz fault defrag store
says 'store.members.all(n, store.members[n].left || store.members[n].defrag.done)'

## quota store, disarm store
kviz fault quota store 100KiB
fails kubectl create configmap too-much --from-literal=a=1
says 'store.alarms.exists(a, a.alarm == "NOSPACE")'
kviz fault quota store 2GiB
fails kubectl create configmap too-much --from-literal=a=1
sleep 2 # a member that applied late raises its own
until kviz wait --timeout 1s 'store.alarms.size() == 0'; do kviz fault disarm store; done
says 'store.alarms.size() == 0'
kubectl create configmap too-much --from-literal=a=1

## wipe member, rejoin member
kviz fault wipe member/c
says '!store.members["c"].up'
fails kviz fault start member/c
kviz fault rejoin member/c
says 'store.members["c"].left && store.quorum.total == 3 && store.quorum.have == 3'
whole

## corrupt member
kviz fault stop member/b
kviz fault corrupt member/b flip
fails kviz fault start member/b
says '!store.members["b"].up'
kviz fault rejoin member/b
says 'store.quorum.total == 3 && store.quorum.have == 3'
whole

## split-vote store
kviz fault split-vote store
says 'store.leader != ""'
whole

## recover member
kviz fault stop store
kviz fault recover member/a
says 'store.quorum.total == 1 && store.leader == "a"'
kubectl create configmap alone

## wipe store, reinstall store
kviz fault wipe store
says 'store.leader != "" && key("/registry/deployments/default/web") == null'
kubectl get namespaces
test "$(kubectl get nodes -o name | wc -l)" -eq 0
kviz fault reinstall store
until test "$(kubectl get nodes -o name | wc -l)" -eq 3; do sleep 1; done
