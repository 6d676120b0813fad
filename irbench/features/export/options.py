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
        "Model": ("imports", "weights", "signature", "seed"),
        "Graph": ("opset", "batch", "layout"),
        "Comparison with the original": ("shape", "data", "value", "deadline"),
        "Output": ("name", "force", "output"),
    },
    changes={
        "data": {
            "help": "Samples, as irbench run takes them, on which outputs are compared with the original's as well."
        },
        "value": {"help": "Constant for an input in that comparison"},
    },
)  # fmt: skip
