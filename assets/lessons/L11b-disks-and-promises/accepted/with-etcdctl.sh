# Another order of the three ways, the leader among them, another damage, and members that join by etcdctl.
gone stop $(leader)
gone crash $(leader)
one=$(follower)
powerless $one 3s
lagging $one
damaged $one truncate
dismissed $one
welcomed d
one=$(follower)
kviz fault wipe member/$one
kviz fault start member/$one
dismissed $one
welcomed e
