# miss: four: d has left; it should stay, and vote
kviz fault remove member/$newcomer
