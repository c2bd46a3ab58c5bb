# One command kills it and starts it again.
kviz fault crash member/$one
wrote
kviz fault restart member/$one || kviz fault start member/$one
