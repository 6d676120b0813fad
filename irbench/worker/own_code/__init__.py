"""The user's own code as a row: a Python function, or a command that answers requests."""
