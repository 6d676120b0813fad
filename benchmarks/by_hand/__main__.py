"""irbench with two more levels, ``hand`` and ``hand-vendor``, for this process and its workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from irbench import cli
from irbench.optimize.recipe import LEVELS

_HERE = Path(__file__).parent
_PATHS = (str(_HERE.parents[1]), str(_HERE))
"""Where this package is imported from, and where the description of its passes lies."""


def main() -> None:
    """Call irbench."""
    sys.path += _PATHS
    os.environ["PYTHONPATH"] = os.pathsep.join((*_PATHS, *filter(None, [os.environ.get("PYTHONPATH")])))
    LEVELS.update({"hand": ("write_by_hand",), "hand-vendor": ("write_by_hand_vendor",)})
    cli.main()


if __name__ == "__main__":
    main()
