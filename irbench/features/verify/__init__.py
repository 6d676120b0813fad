"""Every backend's outputs checked against the reference, or ONNX's own test suite run.

It compares the outputs of every backend, on generated inputs or on data sets, within the tolerance of the precision
that was computed in, or runs the cases of ONNX's backend tests and counts what passed. Nothing is timed.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("verify", "Understand", "Check the outputs of every backend."),)
PAGE = "docs/conformance.md"
