# A disk that is less slow, and a restart that is both.
kviz fault slow member/$one 3s
through 8
awaits "store.members[\"$one\"].last > store.members[\"$one\"].durable"
kviz fault power-cut member/$one
wrote
kviz fault start member/$one
