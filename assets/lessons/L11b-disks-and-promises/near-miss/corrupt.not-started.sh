# It is damaged, and nobody has looked.
kviz fault crash member/$one
kviz fault corrupt member/$one
