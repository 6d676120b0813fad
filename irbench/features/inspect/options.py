"""The options of ``irbench inspect``."""

from __future__ import annotations

from irbench.options.option import CommandOptions
from irbench.options.run import GraphSizes

INSPECT = CommandOptions("inspect", GraphSizes)
