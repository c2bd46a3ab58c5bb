# Both are started one by one, and the fifth is a learner first.
for m in a b c d; do
  kviz fault start member/$m
done
settled
welcomed e
