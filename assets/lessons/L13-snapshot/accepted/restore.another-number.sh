# Raised by another number.
kviz restore backup.db --bump-revision 5000 --mark-compacted
