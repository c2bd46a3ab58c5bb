# miss: both-far: one line is still short, and the leader uses it
kviz fault delay member/$hub $far 40ms
through 3
