# The leader is one of the two.
kviz fault wipe member/$left
kviz fault wipe member/$one
