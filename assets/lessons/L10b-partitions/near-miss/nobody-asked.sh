# The network is cut and mended, and nobody has asked the minority anything.
old=$(leader)
kviz fault partition store $old,$(follower)
elected $old
wrote
kviz fault heal store
settled
undecided
