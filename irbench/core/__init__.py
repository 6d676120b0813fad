"""Values that every part shares: what is recorded, what the rows of a table hold, and plugins by their names."""
