# miss: up: member b is down; here all five stay up, and two cannot reach the others
kviz fault stop member/b
wrote
