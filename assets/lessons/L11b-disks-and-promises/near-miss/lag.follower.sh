# The other follower cuts its log; the leader's is whole, and it is the leader who sends.
kviz fault stop member/$one
through 30
kviz fault snapshot member/$(follower)
kviz fault start member/$one
settled
