# miss: refused: requests wait, and none is turned down; send more of them
kviz apiserver storm system:serviceaccount:tenant:robot 100
