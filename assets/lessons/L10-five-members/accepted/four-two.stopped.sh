# Stopped in an orderly way, and the leader.
kviz fault stop member/a
