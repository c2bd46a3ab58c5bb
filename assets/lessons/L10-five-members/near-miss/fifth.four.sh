# All are up again, but nobody joins.
kviz fault start store
settled
wrote
