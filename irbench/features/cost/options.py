"""The options of ``irbench cost``."""

from __future__ import annotations

from irbench.options.option import CommandOptions
from irbench.options.run import SIZE_HELP, GraphSizes

COST = CommandOptions(
    "cost",
    GraphSizes,
    changes={
        "batch": {"help": "Count for this batch size."},
        "shape": {
            "help": f"Count for this shape {SIZE_HELP} (length=128). A batch and dimensions that are not given have"
            " their default sizes"
        },
    },
)
