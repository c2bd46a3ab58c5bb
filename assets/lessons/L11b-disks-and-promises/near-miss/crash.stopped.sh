# miss: killed: b was stopped, and finished what it was writing; kill it instead
kviz fault stop member/$one
kviz fault start member/$one
