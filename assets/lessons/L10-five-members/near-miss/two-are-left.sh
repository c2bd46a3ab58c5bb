# Everything, but two members are left where it should be one: neither may fail.
through 20
newcomer d
toofew d $(follower d)
newcomer e
through 20
toofew e d $(follower)
shrunk 2
voters 2
through 20
kviz fault crash store
leaderless
kviz fault start store
settled
grown 3
settled
