# Of two, neither may fail.
kviz fault start store
settled
shrunk 2
voters 2
through 20
