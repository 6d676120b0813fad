"""The options of commands that look at a graph at certain sizes."""

from __future__ import annotations

from dataclasses import dataclass

from irbench.options import kinds
from irbench.options.option import option
from irbench.options.run import SIZE_HELP, like
from irbench.options.values import Shapes


@dataclass(frozen=True)
class GraphSizes:
    """The sizes at which a graph is looked at."""

    batch: int | None = option(kinds.COUNT, "Show the graph at this batch size.", metavar="N")
    shape: Shapes = like("shape", help=f"Show the graph at this shape {SIZE_HELP} (length=128)")
