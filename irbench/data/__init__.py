"""Inputs that users bring: files and arrays, matched with the inputs of a model.

Files may come from anywhere: :func:`irbench.data.reading.read_files` is called in a worker.
"""
