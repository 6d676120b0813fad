"""ONNX graphs fused, simplified and converted, every step checked.

Passes fuse and simplify a graph for any runtime, and conversions write it in fp16 or int8. After each step the graph is
checked and loaded, and its outputs are compared with those of the original; how far a conversion is off is measured on
inputs that did not calibrate it.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("optimize", "Models", "Fuse, simplify and convert ONNX graphs."),)
PAGE = "docs/optimizing.md"
