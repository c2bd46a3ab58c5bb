# miss: follower: a leads; every write waited for it
kviz fault defrag member/$leads
