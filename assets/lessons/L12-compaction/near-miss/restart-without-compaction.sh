# Compacted and defragmented, but a restart alone sends nobody back to the beginning.
refused
holes
kviz fault defrag store
kviz fault restart apiserver
sleep 10
lagged
