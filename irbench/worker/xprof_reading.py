"""What xprof says of a trace: called in the environment that xprof is installed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def overview(trace: Path) -> str:
    """Return the page of xprof that sums a trace up, as its JSON: tables with their properties.

    Args:
        trace: An ``.xplane.pb`` file.
    """
    from xprof.convert import raw_to_tool_data

    data: Any
    data, _ = raw_to_tool_data.xspace_to_tool_data([str(trace)], "overview_page", {})
    return data.decode() if isinstance(data, bytes) else str(data)
