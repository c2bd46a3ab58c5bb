# miss: wiped: member/c keeps its disk, and can come back; this accident is worse
kviz fault crash member/b
kviz fault crash member/c
