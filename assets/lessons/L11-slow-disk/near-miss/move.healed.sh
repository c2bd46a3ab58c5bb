# miss: moved: a's disk was made fast; here it stays slow, and another one has to lead
kviz fault fast member/$lame
