# The line from its other end, and the one between the followers, too: another may lead by now.
kviz fault delay member/$near $hub 30ms
kviz fault delay member/$near $far 30ms
