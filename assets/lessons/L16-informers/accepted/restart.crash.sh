# It crashes, and somebody starts it again.
kviz fault crash controller-manager
kviz fault start controller-manager
