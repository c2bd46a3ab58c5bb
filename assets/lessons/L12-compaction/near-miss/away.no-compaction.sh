# A restart alone sends nobody back to the beginning.
kviz fault restart apiserver
sleep 10
