# miss: learner: d joined with a vote at once; this beat needs a learner
kviz fault add-voter store
