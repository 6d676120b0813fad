"""The user's own code as a row: a Python function, stages in order, or a command that answers requests."""
