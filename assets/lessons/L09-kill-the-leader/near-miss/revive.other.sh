# The one that is down stays down.
kviz fault restart member/$new
