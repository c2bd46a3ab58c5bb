# Only one of the two comes back.
kviz fault heal store
kviz fault cut member/b
wrote
