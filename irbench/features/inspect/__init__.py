"""What an ONNX graph contains, and how two graphs differ.

It reads the signature, operators, weights, multiply-accumulates and origin of a graph from the file alone, and
nothing is run. A difference matches nodes by name and names fusions. docs/optimizing.md and docs/shapes.md use it.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("inspect", "Understand", "Show what graphs contain, or how they differ.", only_prints=("",)),)
PAGE = "docs/inspecting-graphs.md"
