# Everything, but the leader is on the side of the three: nobody has to be elected.
lead a
kviz fault partition store d,e
asked
undecided
