unheard() { # the leader is mute, until another leads
  old=$(leader)
  kviz fault mute member/$old
  elected $old
  sleep 1
  kviz fault heal member/$old
  settled
}
unhearing() { # a follower is deaf, until it has asked for votes and writes went on
  other=$(follower)
  kviz fault deafen member/$other
  awaits "store.members[\"$other\"].role == \"candidate\" && store.endedMessages.exists(x, x.rpc == \"RequestPreVote\" && x.from == \"$other\" && x.phase == \"lost\" && x.at >= store.members[\"$other\"].since)"
  wrote
  kviz fault heal member/$other
  settled
}
far() { # DURATION: one follower is far away, then both are
  old=$(leader)
  one=$(follower)
  two=$(follower $one)
  kviz fault delay member/$old $one $1
  through 10
  kviz fault delay member/$old $two $1
  kviz fault delay member/$one $two $1 # on a busy machine another may lead by now
  through 6
}
bad() { # FAULT PART: what happens to messages between the members, whoever leads by now
  kviz fault $1 member/$one $two $2
  kviz fault $1 member/$old $one $2
  kviz fault $1 member/$old $two $2
}
