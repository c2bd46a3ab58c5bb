# The one that has the data stays down; nobody can join it.
kviz fault add-voter store || true
