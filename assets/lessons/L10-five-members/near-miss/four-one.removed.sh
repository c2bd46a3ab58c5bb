# miss: four-one: b was removed; the others are only three now, and need two
kviz fault remove member/b
wrote
