# Everything is back, but the store counts from an old number: whoever watches may believe that nothing happens.
copied backup.db
lost wipe c b
mistaken backup.db a
kviz restore backup.db
voters 3
sleep 60
