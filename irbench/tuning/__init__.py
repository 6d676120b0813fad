"""Searching for the best setting of a model: which settings there are, which are launched next, and what was found.

Pure: everything here follows from what was measured, a budget and a seed.
"""
