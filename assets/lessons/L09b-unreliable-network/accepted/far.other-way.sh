# The line from its other end, and another delay.
kviz fault delay member/$far $hub 30ms
