# Five healthy members, and a pod that keeps writing.
writing
shrunk 5
grown 5
settled
