# Three of four go on.
wrote
