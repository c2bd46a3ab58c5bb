# One disk is lost, and two of three go on.
kviz fault wipe member/$one
