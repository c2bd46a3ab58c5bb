# The history is gone, and the files are as large as before.
refused
away
lagged
