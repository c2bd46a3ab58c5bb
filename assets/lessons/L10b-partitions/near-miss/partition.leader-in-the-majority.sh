# miss: new-leader: a goes on committing: it still reaches a majority
kviz fault partition store d,e
wrote
