# The same patch twice.
for i in 1 2; do
  kubectl patch deployment web -n demo -p '{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"busybox:1"}]}}}}'
done
