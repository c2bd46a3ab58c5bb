# miss: small: disarmed before there is room; the next write raises the alarm again
etcdctl alarm disarm
