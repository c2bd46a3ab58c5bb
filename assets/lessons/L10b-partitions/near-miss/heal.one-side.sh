# Only one of the two comes back: the other is still cut off from the three.
kviz fault heal member/a
wrote
