# miss: four-two: member/b is cut off, but it is up; crash or stop it
kviz fault cut member/b
