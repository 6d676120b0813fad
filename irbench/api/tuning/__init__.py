"""``irbench.tune``: its options, the rows that it chooses from, the search, the confirmation and what came out."""
