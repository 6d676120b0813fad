"""Graphs of three Transformers as somebody who knows the runtimes writes them: what fusing can reach.

They are passes of the optimiser that throw the exported graph away and keep its weights, so that they are checked,
measured and compared like any other result. ``python -m benchmarks.by_hand`` is irbench with two more levels,
``hand`` and ``hand-vendor``.
"""
