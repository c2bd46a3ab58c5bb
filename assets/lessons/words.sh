# What the scripts of lessons have in common. It stands before each of them.

is() { # EXPRESSION: whether it holds now
  kviz wait --timeout 1ms "$1" >/dev/null 2>&1
}
awaits() { # EXPRESSION: it comes to hold; not where the store has no members that it could be about
  if is 'store.quorum.total > 0'; then kviz wait --timeout 120s "$1"; fi
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
  awaits "store.leader != \"\" && store.leader != \"$1\""
}
leaderless() {
  awaits 'store.leader == ""'
}
settled() { # every member is up and has the leader's log
  awaits 'store.leader != "" && store.quorum.have == store.quorum.total && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
}
joined() { # MEMBER: the learner has the log, and can be promoted
  awaits "store.members[\"$1\"].learner && store.members[\"$1\"].last == store.members[store.leader].last"
}
promote() { # MEMBER: as soon as the store takes it for caught up
  for try in $(seq 15); do
    if kviz fault promote member/$1; then return 0; fi
    sleep 1
  done
}
lead() { # MEMBER: hand leadership over; a busy machine may need more than one try
  for try in $(seq 15); do
    if kviz fault lead member/$1; then break; fi
    sleep 1
  done
  awaits "store.leader == \"$1\""
}
wrote() { # the writer's next number is committed
  next=$(kubectl get configmap ledger -n demo -o jsonpath='{.data.number}')
  awaits "int(object(\"configmaps\", \"demo\", \"ledger\").data.number) > $next"
}
through() { # NUMBER: so many of the writer's numbers are committed
  for n in $(seq $1); do wrote; done
}
voters() { # NUMBER: so many vote, all are up, and one leads
  awaits "store.quorum.total == $1 && store.quorum.have == $1 && store.leader != \"\""
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
dismissed() { # MEMBER: etcdctl removes it
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
  awaits 'store.leader != ""'
  shrunk 3
  grown 3
}
