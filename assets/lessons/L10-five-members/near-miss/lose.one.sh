# One of five is missed by nobody.
kviz fault crash member/$(follower)
wrote
