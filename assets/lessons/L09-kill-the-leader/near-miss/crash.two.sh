# miss: untouched: you crashed member/b, the goal says a
kviz fault crash member/a
kviz fault crash member/b
