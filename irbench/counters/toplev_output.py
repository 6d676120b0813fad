"""Read what ``toplev`` of pmu-tools writes with ``-x,``: deeper levels of Top-Down.

irbench runs it as a program of its own and has none of its code. The first line names the columns; ``Area`` is the
node, ``Value`` its share in percent, ``Unit`` says of what, with ``<`` behind it where the node is below its
threshold.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

_NEEDED = ("Area", "Value", "Unit")


def read_toplev(text: str) -> dict[str, float]:
    """Return the share of slots of each node, from 0 to 1, by the node's name.

    The kinds of cores and the processors that toplev tells apart are weighted alike; one line is the rule, because it
    is attached to one process.

    Args:
        text: The file that it wrote.
    """
    found: dict[str, list[float]] = {}
    for line in _lines(text):
        share = _share(line)
        if share is not None:
            found.setdefault(line["Area"], []).append(share)
    return {node: sum(shares) / len(shares) for node, shares in found.items()}


def _lines(text: str) -> Iterator[Mapping[str, str]]:
    rows = csv.reader(line for line in text.splitlines() if line and not line.startswith("#"))
    columns: Sequence[str] = ()
    for row in rows:
        if set(_NEEDED) <= set(row):
            columns = row
        elif columns and len(row) >= len(_NEEDED):
            yield dict(zip(columns, row, strict=False))


def _share(line: Mapping[str, str]) -> float | None:
    """Return a node's share; ``None`` for a metric that is no share of slots, and where there is no number."""
    if not line.get("Unit", "").startswith("% Slots"):
        return None
    try:
        return float(line["Value"]) / 100
    except (KeyError, ValueError):
        return None
