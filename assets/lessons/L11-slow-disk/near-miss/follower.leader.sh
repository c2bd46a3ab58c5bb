# miss: slow-follower: member/a leads; that comes later. Make it fast again, and take a follower
kviz fault slow member/$leads 300ms
