kviz fault start member/$old
kviz wait --timeout 60s 'store.leader != ""'
kviz fault start member/$new
