# With etcdctl, to another one than is offered; a busy machine may need more than one try.
for try in $(seq 15); do
  if etcdctl move-leader $(id c) --endpoints=$(leader):2379; then break; fi
  sleep 1
done
