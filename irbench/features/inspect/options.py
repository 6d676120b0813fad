"""The options of ``irbench inspect``."""

from __future__ import annotations

from irbench.options.graph_sizes import GraphSizes
from irbench.options.option import CommandOptions

INSPECT = CommandOptions("inspect", GraphSizes)
