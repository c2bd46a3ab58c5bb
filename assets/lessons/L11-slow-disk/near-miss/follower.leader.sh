# miss: slow-follower: member/a leads; its turn comes later. Make it fast again, and take a follower
kviz fault slow member/$leads 300ms
