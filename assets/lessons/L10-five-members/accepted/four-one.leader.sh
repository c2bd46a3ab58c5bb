# The leader is the one that goes.
kviz fault crash member/a
