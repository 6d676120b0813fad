"""Inputs that users bring: files and arrays, matched with the inputs of a model.

Files may come from anywhere: :func:`irbench.data.sample_reading.read_files` is called in a worker.
"""
