"""Rounds in which several feeds take turns: each equally often, or the same ones for all cells."""

from __future__ import annotations

import math
from collections.abc import Mapping

from irbench.stats.planning import whole_streams

__all__ = ["equal_calls", "whole_turns"]


def whole_turns(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int], feeds: int
) -> dict[str, int]:
    """Return so many more samples per round that each of several feeds is used equally often in it.

    Args:
        samples: Per round, by cell id.
        calls_per_sample: By cell id.
        streams: Inferences in flight, by cell id: a round has a multiple of them.
        feeds: How many take turns.
    """
    whole: dict[str, int] = {}
    for cell, count in samples.items():
        unit = math.lcm(feeds // math.gcd(feeds, calls_per_sample[cell]), streams[cell])
        whole[cell] = unit * math.ceil(count / unit)
    return whole


def equal_calls(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int]
) -> dict[str, int]:
    """Return as many samples per round that all cells make about as many calls: as few as any of them makes.

    With several feeds that are not all used in a round, cells are then given the same ones, block by block.

    Args:
        samples: Per round, by cell id.
        calls_per_sample: By cell id.
        streams: Inferences in flight, by cell id: a round has a multiple of them.
    """
    fewest = min(count * calls_per_sample[cell] for cell, count in samples.items())
    return {cell: whole_streams(max(1, math.ceil(fewest / calls_per_sample[cell])), streams[cell]) for cell in samples}
