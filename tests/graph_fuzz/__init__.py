"""A seeded fuzzer of the optimiser: random graphs, and near-misses of every pattern that a pass looks for.

``building`` writes graphs, ``patterns_*`` and ``random_graphs`` say which, ``dressing`` hides them in branches, bodies,
functions and readers. ``routes`` are the passes, levels and precisions that a graph takes, ``judging`` compares the
answers before and after, ``shrinking`` makes a finding small, and ``mutants`` breaks passes to see whether it is found.
"""
