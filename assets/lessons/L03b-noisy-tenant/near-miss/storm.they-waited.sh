# miss: refused: requests wait, and none is turned down; it takes more of them
kviz apiserver storm system:serviceaccount:tenant:robot 100
