# It is replaced before it was started: nobody saw what it says.
kviz fault wipe member/$two
kviz fault rejoin member/$two
