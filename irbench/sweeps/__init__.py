"""Sweeps: which tables a plan asks for, in which order, and how far they are; nothing here measures."""
