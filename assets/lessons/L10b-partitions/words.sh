asked() { # every member is asked in both ways; then the network is mended
  wrote
  kviz read /registry/configmaps/demo/ledger
  kviz fault heal store
  settled
}
undecided() { # an election that nobody wins, and one that somebody wins
  kviz fault split-vote store
  awaits 'store.leader != ""'
  settled
}
