# The other follower, and another slowness.
kviz fault slow member/$(follower $slow) 350ms
