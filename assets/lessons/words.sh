# What the scripts of lessons have in common. It stands before each of them.

is() { # EXPRESSION: whether it holds now
  kviz wait --timeout 1ms "$1" >/dev/null 2>&1
}
leader() { # who leads the store
  for m in a b c d e f g h i; do
    if is "store.leader == \"$m\""; then echo $m; fi
  done
}
follower() { # [MEMBER]: one that follows, and is not the one named
  for m in a b c d e f g h i; do
    if is "store.members.exists(m, m == \"$m\") && store.leader != \"$m\" && store.members[\"$m\"].up && \"$m\" != \"$1\""; then
      echo $m
      return 0
    fi
  done
}
elected() { # [MEMBER]: somebody leads, and not the one named
  kviz wait --timeout 60s "store.leader != \"\" && store.leader != \"$1\""
}
leaderless() {
  kviz wait --timeout 60s 'store.leader == ""'
}
settled() { # every member is up and has the leader's log
  kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == store.quorum.total && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
}
joined() { # MEMBER: the learner has the log, and can be promoted
  kviz wait --timeout 60s "store.members[\"$1\"].learner && store.members[\"$1\"].last == store.members[store.leader].last"
}
promote() { # MEMBER: as soon as the store takes it for caught up
  for try in $(seq 30); do
    if kviz fault promote member/$1; then return 0; fi
    sleep 1
  done
}
lead() { # MEMBER: hand the office over; a busy machine may need more than one try
  for try in $(seq 30); do
    if kviz fault lead member/$1; then break; fi
    sleep 1
  done
  kviz wait --timeout 60s "store.leader == \"$1\""
}
wrote() { # the writer's next number is kept
  next=$(kubectl get configmap ledger -n demo -o jsonpath='{.data.number}')
  kviz wait --timeout 60s "int(object(\"configmaps\", \"demo\", \"ledger\").data.number) > $next"
}
through() { # NUMBER: so many of the writer's numbers are kept
  for n in $(seq $1); do wrote; done
}
voters() { # NUMBER: so many vote, all are up, and one leads
  kviz wait --timeout 60s "store.quorum.total == $1 && store.quorum.have == $1 && store.leader != \"\""
}
writing() { # a namespace, and a pod in it that counts aloud
  kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
  kubectl apply -f manifests/ledger.yaml >/dev/null
  kubectl wait -n demo --for=condition=Ready pod/writer --timeout=180s
}
member() { # WORDS…: etcdctl member at whoever leads: others may be down
  etcdctl member $* --endpoints=$(leader):2379
}
id() { # MEMBER: its number, as etcdctl wants it
  member list | grep ", $1, http" | cut -d, -f1
}
dismissed() { # MEMBER: etcdctl takes it out of the group
  for try in $(seq 10); do
    member remove $(id $1)
    if is "!store.members.exists(m, m == \"$1\")"; then return 0; fi
    sleep 1
  done
}
welcomed() { # MEMBER: etcdctl lets it join as a learner, and promotes it
  for try in $(seq 10); do
    member add $1 --learner --peer-urls=http://$1:2380
    if is "store.members.exists(m, m == \"$1\")"; then break; fi
    sleep 1
  done
  joined $1
  for try in $(seq 10); do
    member promote $(id $1)
    if is "!store.members[\"$1\"].learner"; then break; fi
    sleep 1
  done
  settled
}
shrunk() { # NUMBER: no more than so many vote, and nobody is a learner
  for m in i h g f e d c b a; do
    if is "store.members.exists(m, m == \"$m\") && (store.quorum.total > $1 || store.members[\"$m\"].learner)"; then
      kviz fault remove member/$m
    fi
  done
}
grown() { # NUMBER: so many vote
  for try in 1 2 3 4 5 6 7 8; do
    if is "store.quorum.total < $1"; then kviz fault add-voter store; fi
  done
  voters $1
}
whole() { # three members, up and well
  kviz fault heal store
  kviz fault start store
  kviz fault fast-elections store
  kviz resume
  kviz wait --timeout 60s 'store.leader != ""'
  shrunk 3
  grown 3
}
