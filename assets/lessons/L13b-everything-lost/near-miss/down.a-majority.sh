# miss: down: you stopped member/b; stop all of them
kviz fault stop member/b
