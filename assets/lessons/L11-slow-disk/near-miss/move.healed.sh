# miss: moved: a's disk was made fast; here it stays slow, and another member must lead
kviz fault fast member/$lame
