# It is started anew, and its disk is as full as before.
kviz fault restart member/$filled || true
