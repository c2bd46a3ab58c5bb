# A pod that keeps writing, and three healthy members.
writing
shrunk 3
settled
