# miss: dropped: that loses every message; lose only a part of them
kviz fault cut member/$hub $one
wrote
