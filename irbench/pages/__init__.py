"""HTML pages of results: what they show as values, and how they are written, each into one file that needs no other."""
