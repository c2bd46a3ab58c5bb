# Raised by another number.
kviz restore backup.db --bump-revision 7000 --mark-compacted
