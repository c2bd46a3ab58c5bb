# Every link, in another part.
kviz fault reorder member/$hub $one 0.4
kviz fault reorder member/$hub $two 0.4
kviz fault reorder member/$one $two 0.4
