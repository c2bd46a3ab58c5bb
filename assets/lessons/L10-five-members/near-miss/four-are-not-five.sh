# One member joins, not two. Of four, two may not fail.
through 20
newcomer d
toofew d $(follower d)
through 20
toofew d $(follower d)
shrunk 3
voters 3
alone
grown 3
settled
