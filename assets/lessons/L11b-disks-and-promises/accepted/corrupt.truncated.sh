# Another damage, to a member that was asked to stop.
kviz fault stop member/$one
kviz fault corrupt member/$one truncate
kviz fault start member/$one || true
