# The scheduler has copies as well, but is not who looks after web.
kviz fault restart scheduler
sleep 10
work
held
kviz fault heal $pods
sleep 20
