"""A row that was called for a long time: its memory and its latency block by block, and the trends of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from irbench.core.row import UNFINISHED_TEXT, MeasuredTable, RowHead

Growth = Literal["grows", "steady", "undecided"]
SoakStop = Literal["finished", "interrupt", "failures", "unfinished"]
"""``failures``: no row could be measured; ``unfinished``: rows were still being measured when this was written."""
SOAK_STOP_TEXTS: Mapping[SoakStop, str] = {
    "finished": "finished",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": UNFINISHED_TEXT,
}
"""Why a table's measurement ended."""


@dataclass(frozen=True)
class SoakSeries:
    """What was measured, a value for each block, in the order of time.

    Attributes:
        calls: Calls made by the end of the block, since the warm-up.
        elapsed_ns: Time that the blocks up to this one took together.
        median_ns: Median latency of the block's calls.
        resident_bytes: Resident memory of the process at the end of the block.
    """

    calls: tuple[int, ...] = ()
    elapsed_ns: tuple[int, ...] = ()
    median_ns: tuple[int, ...] = ()
    resident_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class MemoryTrend:
    """How resident memory changes from call to call.

    Attributes:
        bytes_per_call: The slope; null where there are too few blocks.
        low: Lower end of its interval.
        high: Upper end.
        verdict: What the interval says of the growth that matters.
        blocks: How many blocks the slope is of; the first ones of a row are left out.
        start_bytes: Resident memory at the end of the first block that counts.
        end_bytes: Resident memory at the end of the last block.
    """

    bytes_per_call: float | None
    low: float | None
    high: float | None
    verdict: Growth
    blocks: int
    start_bytes: int
    end_bytes: int


@dataclass(frozen=True)
class LatencyDrift:
    """How much slower calls became over the blocks that count, as a fraction: 0.02 is 2 % slower.

    Attributes:
        value: From the trend of the logarithms of block medians.
        low: Lower end of its interval.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class SoakRow(RowHead):
    """One row: what was asked, what it became, its series, and what follows from that."""

    p50_ms: float | None = None
    calls: int = 0
    seconds: float = 0.0
    memory: MemoryTrend | None = None
    drift: LatencyDrift | None = None
    series: SoakSeries | None = None


@dataclass(frozen=True, kw_only=True)
class SoakTable(MeasuredTable):
    """The rows of one model at one size.

    Attributes:
        growth_limit: Bytes per call from which on growth matters.
        confidence: Of each interval.
    """

    growth_limit: float
    confidence: float
    stopped_by: SoakStop
    rows: tuple[SoakRow, ...] = ()
