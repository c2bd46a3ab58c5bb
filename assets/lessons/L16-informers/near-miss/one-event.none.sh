# It is let go before there is anything to hold.
kviz fault hold $pods
kviz fault release $pods
