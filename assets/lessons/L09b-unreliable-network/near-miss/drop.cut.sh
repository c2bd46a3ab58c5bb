# miss: dropped: that loses every message; a part is to be lost
kviz fault cut member/$hub $one
wrote
