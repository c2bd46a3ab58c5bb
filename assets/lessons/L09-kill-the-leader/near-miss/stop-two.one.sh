# miss: lost: two of three are still a majority
kviz fault stop member/$old
