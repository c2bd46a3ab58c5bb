# A majority, but not all of them.
kviz fault start member/$old
