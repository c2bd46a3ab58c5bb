# Other writers.
kubectl annotate configmap settings -n demo seen=once
kubectl label configmap settings -n demo color=none
