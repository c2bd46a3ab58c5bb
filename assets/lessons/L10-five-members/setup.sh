# Three healthy members, and a pod that keeps writing.
writing
shrunk 3
voters 3
