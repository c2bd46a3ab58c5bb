# With etcdctl, the first ones first, whoever leads.
for m in a b c d e; do
  kviz fault start member/$m
done
settled
for m in a b c d; do
  dismissed $m
done
voters 1
