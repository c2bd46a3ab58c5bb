# All was seen, and nothing was mended.
again
work
held
