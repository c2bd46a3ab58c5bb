# The alarm is disarmed, and comes back with the next write.
slowed 300ms
moved
kviz fault fast member/$old
full $old
overfull 2MiB
etcdctl alarm disarm
sleep 5
