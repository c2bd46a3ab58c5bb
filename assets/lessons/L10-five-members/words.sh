newcomer() { # MEMBER: it joins as a learner, and is promoted
  kviz fault add-learner store
  joined $1
  promote $1
  settled
}
toofew() { # MEMBER MEMBER…: they crash one after another, the last one stops the store; then all come back
  for m in $*; do
    if is 'store.leader != ""'; then wrote; fi
    kviz fault crash member/$m
    sleep 1
  done
  leaderless
  kviz fault start store
  settled
}
alone() { # one is left, writes, crashes and comes back
  shrunk 1
  voters 1
  through 20
  kviz fault crash store
  leaderless
  kviz fault start store
  settled
}
