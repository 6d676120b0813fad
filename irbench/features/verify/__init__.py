"""Every backend's outputs checked against the reference, or ONNX's own test suite run."""

from irbench.terminal.commands import Command

COMMANDS = (Command("verify", "Understand", "Check every backend's outputs, or run ONNX's own test suite."),)
