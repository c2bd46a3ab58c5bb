# A member that neither hears nor is heard is simply away.
kviz fault cut member/$deaf
wrote
