# The quorum is back, with the newest state: front stays deleted.
copied backup.db
lost wipe c b
mistaken backup.db a
kviz fault recover member/a
awaits 'store.leader == "a"'
kviz fault add-voter store
kviz fault add-voter store
awaits 'store.quorum.have == 3'
