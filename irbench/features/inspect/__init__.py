"""What an ONNX graph contains, and how two graphs differ."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("inspect", "Understand", "Show what an ONNX graph contains, or how two graphs differ.", only_prints=("",)),
)
