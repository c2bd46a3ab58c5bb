crashed() { # the leader crashes, another is elected, and the Deployment is scaled
  old=$(leader)
  kviz fault crash member/$old
  elected $old
  kubectl scale deployment web -n demo --replicas=3
}
slowly() { # FACTOR: an election in slow motion
  kviz fault slow-elections store $1
  old=$(leader)
  kviz fault crash member/$old
  elected $old
  kviz fault fast-elections store
  kviz fault start member/$old
  settled
}
lost() { # MEMBER MEMBER: two go, and nobody leads
  kviz fault stop member/$1
  kviz fault stop member/$2
  awaits '!store.quorum.ok && store.leader == ""'
}
