# miss: learner: d joined with a vote at once; the beat wants a learner
kviz fault add-voter store
