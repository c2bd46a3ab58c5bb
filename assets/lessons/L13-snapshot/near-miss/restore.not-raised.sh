# miss: restored: the backup is back, but its revisions are old ones, which clients have seen already
kviz restore backup.db
