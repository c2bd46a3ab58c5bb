# It is removed, and nobody joins: two vote, and none may fail.
kviz fault remove member/$one
wrote
