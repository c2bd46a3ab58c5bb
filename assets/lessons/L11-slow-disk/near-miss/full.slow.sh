# miss: filled: a slow disk takes every write, only later; this one must be full
kviz fault slow member/$filled 400ms
