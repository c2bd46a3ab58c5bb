# One follower's links are mended; the other's are as bad as before.
kviz fault heal member/$hub $one
wrote
