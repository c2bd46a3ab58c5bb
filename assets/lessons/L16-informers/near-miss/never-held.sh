# All but the last: no event of a pod was held after everything was mended.
again
work
held
kviz fault heal $pods
sleep 20
kviz fault hold $pods
kviz fault release $pods
sleep 5
