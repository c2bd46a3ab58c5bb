# Links in the other direction, and one kind of fault after the other before all of them together.
unheard
unhearing
old=$(leader)
one=$(follower)
two=$(follower $one)
kviz fault delay member/$one $old 30ms
through 10
kviz fault delay member/$two $old 30ms
kviz fault delay member/$two $one 30ms
through 10
through 10
kviz fault heal store
settled
old=$(leader)
one=$(follower)
two=$(follower $one)
bad reorder 0.4
through 20
bad duplicate 0.5
through 10
bad drop 0.3
through 20
kviz fault heal store
settled
