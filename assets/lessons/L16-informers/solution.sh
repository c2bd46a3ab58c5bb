again
work
held
kviz fault heal $pods
sleep 20
one
