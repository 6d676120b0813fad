"""What irbench does, for Python and for the command line alike: typed requests in, results as values out.

The public names are those of :data:`irbench.__all__`; everything here may change.
"""
