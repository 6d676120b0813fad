"""``irbench.reduce``: its options, how parts of a graph are tried and judged, the search, and what came out."""
