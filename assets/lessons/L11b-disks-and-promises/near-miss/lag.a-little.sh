# miss: installed: b got entries: it had missed so few that the leader's log still has them
kviz fault stop member/$one
kviz fault snapshot member/$(leader)
wrote
kviz fault start member/$one
settled
