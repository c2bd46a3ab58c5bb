# The leader and a companion on one side.
old=$(leader)
kviz fault partition store $old,$(follower)
elected $old
asked
kviz fault slow-elections store 3
undecided
kviz fault fast-elections store
