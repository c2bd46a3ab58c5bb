# Everything, and nobody has seen what a wrong list of members leads to.
copied backup.db
lost wipe c b
kviz restore backup.db --bump-revision 1000000000 --mark-compacted
front
