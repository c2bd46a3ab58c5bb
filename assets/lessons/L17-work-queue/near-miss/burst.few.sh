# A few changes are no burst.
for i in 1 2 3; do kubectl label pod $victim -n demo count=$i --overwrite; done
