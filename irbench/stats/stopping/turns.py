"""Rounds in which several feeds take turns: each equally often, or the same ones for all cells."""

from __future__ import annotations

import math
from collections.abc import Mapping

_MOST_MORE = 2
"""How many times the fewest calls cells may make to make the same ones: slow cells pay for it."""


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
        whole[cell] = _next_multiple(count, unit)
    return whole


def equal_calls(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int]
) -> dict[str, int]:
    """Return so many samples per round that all cells make the same number of calls: about as few as any of them makes.

    Calls come in whole samples, and those of streams in a multiple of them. Where no number of at most twice the
    fewest suits all cells, each makes the next one that suits it: more calls than others, from the same first one on.

    Args:
        samples: Per round, by cell id.
        calls_per_sample: By cell id.
        streams: Inferences in flight, by cell id: a round has a multiple of them.
    """
    if not samples:
        return {}
    fewest = fewest_calls(samples, calls_per_sample)
    units = {cell: calls_per_sample[cell] * streams[cell] for cell in samples}
    same = _next_multiple(fewest, math.lcm(*units.values()))
    calls = {
        cell: same if same <= _MOST_MORE * fewest else _next_multiple(fewest, unit) for cell, unit in units.items()
    }
    return {cell: count // calls_per_sample[cell] for cell, count in calls.items()}


def fewest_calls(samples: Mapping[str, int], calls_per_sample: Mapping[str, int]) -> int:
    """Return how many calls the cell makes in a round that makes the fewest.

    Where samples take turns, each block begins so many after the one before, for all cells alike.

    Args:
        samples: Per round, by cell id; not empty.
        calls_per_sample: By cell id.
    """
    return min(count * calls_per_sample[cell] for cell, count in samples.items())


def same_mix(
    samples: Mapping[str, int], calls_per_sample: Mapping[str, int], streams: Mapping[str, int], feeds: int
) -> dict[str, int]:
    """Return so many samples that runs of different speeds meet the same mix of feeds.

    Whole turns where every cell makes one, otherwise the same number of calls.

    Args:
        samples: That each cell would take, by its id; not empty.
        calls_per_sample: By cell id.
        streams: Inferences in flight, by cell id.
        feeds: How many take turns.
    """
    if fewest_calls(samples, calls_per_sample) < feeds:
        return equal_calls(samples, calls_per_sample, streams)
    return whole_turns(samples, calls_per_sample, streams, feeds)


def _next_multiple(number: int, unit: int) -> int:
    return unit * math.ceil(number / unit)
