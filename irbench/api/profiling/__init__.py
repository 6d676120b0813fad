"""``irbench.profile``: its options, the document it begins with, its rows, and what came out."""
