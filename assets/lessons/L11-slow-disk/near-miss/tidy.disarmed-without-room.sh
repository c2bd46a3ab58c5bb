# miss: small: you disarmed it before there was room; the next write raises the alarm again
etcdctl alarm disarm
