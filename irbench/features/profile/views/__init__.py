"""A profile in words: its sentences, and its tables."""
