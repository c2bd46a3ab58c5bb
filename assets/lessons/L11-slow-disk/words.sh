hit() { # DURATION: slow down whoever leads, until the writer feels it; old is who that was
  for try in 1 2 3 4 5; do
    old=$(leader)
    for m in a b c; do
      if [ $m != $old ]; then kviz fault fast member/$m; fi
    done
    kviz fault slow member/$old $1
    sleep 3
    if kviz wait --timeout 10s "store.leader == \"$old\" && requests.exists(r, r.name == \"ledger\" && r.took >= duration(\"250ms\"))"; then
      return 0
    fi
  done
}
slowed() { # DURATION: a follower's disk is slow, then the leader's
  old=$(leader)
  other=$(follower)
  kviz fault slow member/$other $1
  sleep 1
  kviz fault fast member/$other
  hit $1
}
moved() { # the office goes to a member whose disk is fast, which is other
  other=$(follower $old)
  lead $other
  sleep 2
}
full() { # MEMBER: its disk runs full, and has room again
  kviz fault fill member/$1
  awaits "store.members[\"$1\"].diskError != \"\" || !store.members[\"$1\"].up"
  kviz fault free member/$1
  awaits 'store.leader != ""'
  if is "!store.members[\"$1\"].up"; then kviz fault start member/$1; fi
  settled
}
overfull() { # SIZE: the database grows beyond this quota
  kviz fault quota store $1
  for i in $(seq 1 80); do
    kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null 2>&1
    if is 'store.alarms.size() > 0'; then break; fi
  done
  kubectl get configmaps -n demo >/dev/null
}
holes() { # the compaction has reached every member
  awaits 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
}
small() { # no member's database is near the quota
  awaits 'store.members.all(m, store.members[m].dbSize * 2 < store.quota)'
}
