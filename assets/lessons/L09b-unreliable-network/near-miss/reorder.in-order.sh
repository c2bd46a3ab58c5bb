# Everything, but no message ever overtakes another.
kviz fault drop member/$hub $one 0.3
kviz fault duplicate member/$hub $two 0.5
through 10
