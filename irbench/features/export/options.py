"""The options of ``irbench export``."""

from __future__ import annotations

from irbench.options.export import ExportOptions
from irbench.options.option import CommandOptions
from irbench.options.run import RunOptions

EXPORT = CommandOptions(
    "export",
    ExportOptions,
    RunOptions,
    sections={
        "": (
            "opset", "batch", "seed", "weights", "layout", "imports", "name", "signature", "shape", "data", "value",
            "deadline", "force", "output",
        )
    },
    changes={
        "data": {
            "help": "Samples, as irbench run takes them, on which outputs are compared with the original's as well."
        },
        "value": {"help": "Constant for an input in that comparison"},
    },
)  # fmt: skip
