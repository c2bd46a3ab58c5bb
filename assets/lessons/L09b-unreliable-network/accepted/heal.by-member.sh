# One member after the other.
kviz fault heal member/a
kviz fault heal member/b
kviz fault heal member/c
