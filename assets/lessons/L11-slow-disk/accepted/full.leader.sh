# The leader's disk runs full.
kviz fault fast member/$filled
kviz fault fill member/$(leader)
