# It joins, but it has no vote.
kviz fault start store
settled
kviz fault add-learner store
joined e
