# The quota is raised instead of the database made smaller: writes are taken, and nothing was tidied up.
slowed 300ms
moved
kviz fault fast member/$old
full $old
overfull 2MiB
kviz fault quota store 2GiB
etcdctl alarm disarm
kviz fault compact store
sleep 5
