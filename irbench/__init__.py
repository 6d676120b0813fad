"""irbench: which runtime and setting runs a neural network fastest on this machine, and how sure that is."""

__version__ = "0.1.0"
