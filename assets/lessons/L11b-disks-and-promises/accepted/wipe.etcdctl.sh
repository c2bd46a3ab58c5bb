kviz fault wipe member/$two
kviz fault start member/$two || true
dismissed $two
welcomed e
