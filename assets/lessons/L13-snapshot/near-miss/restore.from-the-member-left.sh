# The quorum is back, with the newest state: front stays deleted.
kviz fault recover member/$left
awaits "store.leader == \"$left\""
kviz fault add-voter store
kviz fault add-voter store
awaits 'store.quorum.have == 3'
