"""ONNX graphs fused, simplified and converted, every step checked."""

from irbench.terminal.commands import Command

COMMANDS = (Command("optimize", "Models", "Fuse, simplify and convert ONNX graphs, checking every step."),)
