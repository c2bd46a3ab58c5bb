# The other server is restarted, and the first is left down.
kviz fault restart apiserver/b
kviz wait --timeout 60s 'processes["apiserver/b"].up'
