# The same with etcdctl where it can, members that are stopped instead of crashed, and the first ones leave.
through 20
welcomed d
kviz fault stop member/a
wrote
kviz fault stop member/b
leaderless
kviz fault start store
settled
welcomed e
through 20
kviz fault stop member/a
kviz fault stop member/b
wrote
kviz fault stop member/c
leaderless
for m in a b c; do
  kviz fault start member/$m
done
settled
for m in a b; do
  dismissed $m
done
voters 3
lead e
for m in c d; do
  dismissed $m
done
voters 1
through 20
kviz fault crash member/e
kviz fault start member/e
voters 1
wrote
grown 3
settled
