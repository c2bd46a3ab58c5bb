for i in $(seq 1 110); do kubectl annotate pod $victim -n demo count=$i --overwrite; done
