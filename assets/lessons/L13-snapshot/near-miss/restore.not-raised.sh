# miss: restored: the backup is back, but at old revisions, which clients have seen already
kviz restore backup.db
