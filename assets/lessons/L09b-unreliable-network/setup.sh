# A pod that keeps writing, and three healthy members.
writing
settled
