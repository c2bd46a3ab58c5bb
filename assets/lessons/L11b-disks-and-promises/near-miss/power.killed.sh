# miss: unsynced: only the process is gone; the machine has power, and syncs what was written
kviz fault slow member/$one 300ms
through 3
kviz fault crash member/$one
kviz fault start member/$one
kviz fault fast member/$one
