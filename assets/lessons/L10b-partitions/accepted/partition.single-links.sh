# Single links are cut instead of a partition.
kviz fault cut member/a c d e
kviz fault cut member/b c d e
