# The other follower.
kviz fault deafen member/$(follower $deaf)
