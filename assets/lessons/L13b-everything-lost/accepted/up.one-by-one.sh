# In any order.
for m in c a b; do
  kviz fault start member/$m
done
