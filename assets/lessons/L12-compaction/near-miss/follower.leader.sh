# miss: follower: a leads; defragment the leader last
kviz fault defrag member/$leads
