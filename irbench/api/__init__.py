"""What the functions of Python share: how arguments are checked, and how results and progress are shown.

The public names are those of :data:`irbench.__all__`; everything here may change.
"""
