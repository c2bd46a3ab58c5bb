kviz fault start store
