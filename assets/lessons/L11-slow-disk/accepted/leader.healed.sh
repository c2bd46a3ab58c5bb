# All that is wrong with the follower is mended, and the leader gets slower still.
kviz fault heal member/$late
kviz fault slow member/$(leader) 400ms
