gone() { # FAULT MEMBER: it goes in this way, and comes back
  kviz fault $1 member/$2
  wrote
  kviz fault start member/$2
  settled
}
powerless() { # MEMBER DURATION: its machine loses power with a disk so slow
  kviz fault slow member/$1 $2
  through 3 # what was being synced as it became slow may still come to disk
  awaits "store.members[\"$1\"].last > store.members[\"$1\"].durable"
  kviz fault power-cut member/$1
  wrote
  kviz fault start member/$1
  kviz fault fast member/$1
  settled
}
lagging() { # MEMBER: it misses so much that it needs a snapshot
  kviz fault stop member/$1
  through 30
  kviz fault snapshot member/$(leader)
  kviz fault start member/$1
  awaits "store.members[\"$1\"].snapshotIndex > 0"
  settled
}
damaged() { # MEMBER KIND: its log is damaged, and it does not come up
  kviz fault crash member/$1
  kviz fault corrupt member/$1 $2
  kviz fault start member/$1
  wrote
}
replaced() { # MEMBER: a new one takes its place
  kviz fault rejoin member/$1
  voters 3
  settled
}
