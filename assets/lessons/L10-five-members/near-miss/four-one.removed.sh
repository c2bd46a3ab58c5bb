# miss: four-one: b was removed; now only three are left, and they need two
kviz fault remove member/b
wrote
