"""irbench with levels of a plugin's passes, for one process and its workers: nothing is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from irbench import cli
from irbench.optimizer import LEVELS

_ROOT = Path(__file__).parents[1]
"""Where the packages of the benchmarks are imported from."""


def call_irbench(folder: Path, levels: Mapping[str, tuple[str, ...]]) -> None:
    """Call irbench as its command line does.

    Args:
        folder: Where the description of the passes' distribution lies.
        levels: The passes of each level that is added, in order.
    """
    paths = (str(_ROOT), str(folder))
    sys.path += paths
    os.environ["PYTHONPATH"] = os.pathsep.join((*paths, *filter(None, [os.environ.get("PYTHONPATH")])))
    LEVELS.update(levels)
    cli.main()
