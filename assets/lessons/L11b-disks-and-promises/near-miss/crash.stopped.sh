# miss: killed: b was asked to stop, and finished what it was writing; here it gets no time for that
kviz fault stop member/$one
kviz fault start member/$one
