"""When this process executed its first line of irbench, and how long NumPy took to import.

Workers import it before anything else: NumPy is a part of the start of every program that calls a runtime, and the
modules of irbench that would import it unseen are not.
"""

from __future__ import annotations

from importlib import import_module

from irbench.measure.clock import now_ns

FIRST_LINE_NS = now_ns()
"""On the clock that all processes of one boot share."""

import_module("numpy")
NUMPY_IMPORT_NS = now_ns() - FIRST_LINE_NS
"""Next to nothing where NumPy was imported before."""
