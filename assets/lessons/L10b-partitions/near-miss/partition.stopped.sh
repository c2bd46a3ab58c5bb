# miss: up: member b is down; here all five stay up, and two are not heard
kviz fault stop member/b
wrote
