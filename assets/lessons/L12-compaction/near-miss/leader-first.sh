# Everything, but the leader goes first and is not asked again.
refused
first=$(leader)
holes
kviz fault defrag member/$first
for m in a b c; do
  [ $m = $first ] || kviz fault defrag member/$m
done
away
lagged
