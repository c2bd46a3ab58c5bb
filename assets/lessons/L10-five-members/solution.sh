through 20
newcomer d
toofew d $(follower d)
newcomer e
through 20
toofew e d $(follower)
shrunk 3
voters 3
alone
grown 3
settled
