"""A graph whose time is known relative to its own longer forms, whatever runtime computes it.

It is a chain of equal layers, and its longer forms have more of them. They come in as passes of the optimiser, so that
one run of irbench compares them. ``python -m benchmarks.real_work`` is irbench with levels that append them: ``same``,
``longer-1`` (1 %), ``longer-2``, ``longer-3``, ``longer`` (5 %), ``longer-10`` and ``twice``.
"""
