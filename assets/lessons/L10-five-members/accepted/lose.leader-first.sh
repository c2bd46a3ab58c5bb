# The leader goes first, so that the others have to elect.
old=$(leader)
kviz fault crash member/$old
elected $old
kviz fault stop member/$(follower)
wrote
kviz fault crash member/$(leader)
