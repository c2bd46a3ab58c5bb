# miss: down: you stopped member/b; all of them are to go
kviz fault stop member/b
