# miss: none: f joined; this beat is about one member
kviz fault add-voter store
