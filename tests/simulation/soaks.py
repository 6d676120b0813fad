"""Series of resident memory whose truth is known, as runtimes and allocators make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.core.soak_row import Growth, SoakSeries
from irbench.stats.run_modes.soak import memory_trend

BLOCKS, CALLS, PAGE = 120, 100, 4096
LIMIT = 1000.0
START = 300_000_000
ALLOWED = LIMIT * CALLS * BLOCKS
"""What may be added over the whole time: 12 MB."""

Values: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Callable[[np.random.Generator], Values]


def series(extra_bytes: Values, medians: Values | None = None) -> SoakSeries:
    """Return a soak whose process is larger by so much after each block; memory comes in whole pages."""
    resident = (START + extra_bytes) // PAGE * PAGE
    count = len(resident)
    return SoakSeries(
        calls=tuple(CALLS * (index + 1) for index in range(count)),
        elapsed_ns=tuple(10**8 * (index + 1) for index in range(count)),
        median_ns=tuple(int(median) for median in (np.full(count, 10**6) if medians is None else medians)),
        resident_bytes=tuple(int(size) for size in resident),
    )


def leak(bytes_per_call: float) -> Values:
    return bytes_per_call * CALLS * np.arange(1, BLOCKS + 1)


def verdicts(kind: Kind, bytes_per_call: float = 0.0, runs: int = 120) -> dict[Growth, float]:
    """Return the share of each verdict over some soaks of a kind with a leak."""
    random = np.random.default_rng(11)
    found: list[Growth] = []
    for _ in range(runs):
        trend = memory_trend(series(kind(random) + leak(bytes_per_call)), LIMIT, 0.95)
        assert trend is not None
        found.append(trend.verdict)
    return {verdict: found.count(verdict) / runs for verdict in ("grows", "steady", "undecided")}


def pages(random: np.random.Generator) -> Values:
    """A few pages come and go."""
    return PAGE * random.integers(0, 5, BLOCKS).astype(float)


def step(random: np.random.Generator) -> Values:
    """A pool becomes larger, once, at any moment."""
    return 4 * ALLOWED * (np.arange(BLOCKS) >= random.integers(0, BLOCKS)) + pages(random)


def two_steps(random: np.random.Generator) -> Values:
    return (step(random) + step(random)) / 2


def growth_at_first(random: np.random.Generator) -> Values:
    """Pools reach their size within the first tenth of the time."""
    return 4 * ALLOWED * (1 - np.exp(-np.arange(BLOCKS) / random.uniform(1, 4))) + pages(random)


def sawtooth(random: np.random.Generator) -> Values:
    """Memory is collected from time to time."""
    return 2 * ALLOWED * ((np.arange(BLOCKS) / BLOCKS * random.uniform(3, 30) + random.random()) % 1)


def slow_noise(random: np.random.Generator) -> Values:
    """Each block resembles the ten before it."""
    values = np.zeros(BLOCKS + 100)
    for index in range(1, len(values)):
        values[index] = 0.9 * values[index - 1] + random.normal()
    return 0.1 * ALLOWED * (values[100:] - values[100:].min())


def random_walk(random: np.random.Generator) -> Values:
    walk = np.cumsum(random.normal(size=BLOCKS))
    return 2 * ALLOWED * (walk - walk.min())


KINDS: Mapping[str, Kind] = {
    "a few pages come and go": pages,
    "growth in the first calls": growth_at_first,
    "one step of 48 MB at any time": step,
    "two steps of 24 MB": two_steps,
    "sawtooth of 24 MB": sawtooth,
    "noise of 3 MB, each block like the ten before": slow_noise,
    "random walk of 24 MB per block": random_walk,
}


def as_table(runs: int) -> str:
    """Return how often each verdict is given, as Markdown."""
    lines = [
        "| memory | no leak: grows | no leak: steady | leak at the limit: steady | leak of 3 times the limit: grows |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, kind in KINDS.items():
        without, limit, more = (verdicts(kind, factor * LIMIT, runs) for factor in (0, 1, 3))
        figures = (without["grows"], without["steady"], limit["steady"], more["grows"])
        lines.append(f"| {name} | {' | '.join(f'{share:.3f}' for share in figures)} |")
    return "\n".join(lines)
