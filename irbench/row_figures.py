"""Figures of a row: latencies, energy, speedups and phases, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from irbench.notices import AnyMark

Verdict = Literal["faster", "slower", "same", "undecided", "preview"]


class Ends(NamedTuple):
    """Between which values a figure lies, as far as that is known.

    Attributes:
        low: Lower end.
        high: Upper end.
        is_range: Whether they are the smallest and the largest of a few launches, which have no confidence, and not
            those of a confidence interval.
    """

    low: float
    high: float
    is_range: bool


@dataclass(frozen=True, kw_only=True)
class WithEnds:
    """A figure over launches: it has a confidence interval, or a range over too few launches for one, or neither.

    Attributes:
        low: Lower end of the interval; null where there are too few launches for one.
        high: Upper end; null likewise.
        range_low: The smallest launch, where there are too few for an interval and more than one; null otherwise.
        range_high: The largest launch; null likewise.
    """

    low: float | None = None
    high: float | None = None
    range_low: float | None = None
    range_high: float | None = None

    @property
    def ends(self) -> Ends | None:
        """The interval where there is one, else the range; ``None`` after a single launch."""
        if self.low is not None and self.high is not None:
            return Ends(self.low, self.high, is_range=False)
        if self.range_low is not None and self.range_high is not None:
            return Ends(self.range_low, self.range_high, is_range=True)
        return None


@dataclass(frozen=True)
class Estimated:
    """A figure that was estimated.

    Attributes:
        value: In its unit.
    """

    value: float


@dataclass(frozen=True)
class Spans(WithEnds, Estimated):
    """The interval of a figure over launches, for this row alone.

    Attributes:
        value: The median over launches, which the interval is about, in the figure's unit. Not that of all calls
            together, which one slow launch may move.
        all_blocks_value: The figure over every block, disturbed ones included.
    """

    all_blocks_value: float | None = None


@dataclass(frozen=True)
class LatencyMs:
    """Milliseconds from issue to completion of one batch, over the calls of the blocks that count.

    Percentiles use linear interpolation, and are null where there are too few calls to bound them. ``p90`` and ``min``
    are null where a sample is several calls; ``p99`` and ``p99_9`` come from ``--tail`` only.
    """

    p50: float
    p90: float | None
    p99: float | None
    p99_9: float | None
    min: float | None
    mean: float
    count: int
    calls_per_sample: int


@dataclass(frozen=True)
class PacedLatency:
    """Latency of calls that were due at regular intervals, in milliseconds, over all launches.

    Attributes:
        pace: From one call to the next.
        p50: Median from issue to completion.
        p90: 90th percentile of that; null where there are too few calls to bound it.
        p50_since_due: Median from when a call was due to its completion: of a late call, waiting for the one before
            counts. Null where more than half of the calls were late, of which the queue only grows.
        p90_since_due: 90th percentile of that.
        late: Calls that were due while the one before was still running.
        count: Calls.
    """

    pace: float
    p50: float
    p90: float | None
    p50_since_due: float | None
    p90_since_due: float | None
    late: int
    count: int


@dataclass(frozen=True)
class EnergyUse:
    """Energy of one inference of one batch while the row ran alone, and power: medians over launches.

    Attributes:
        joules: Of one inference, with what the idle machine uses in that time.
        joules_above_idle: Without that; null where idle power is unknown.
        watts: While it ran.
        idle_watts: While nothing ran and all rows were loaded; null where unknown.
        watts_by_domain: Of each part of the machine that is counted: ``package-0``, ``dram-0``, ``gpu-0``.
    """

    joules: float
    joules_above_idle: float | None
    watts: float
    idle_watts: float | None
    watts_by_domain: Mapping[str, float]


@dataclass(frozen=True)
class Speedup(WithEnds, Estimated):
    """How much faster a cell is than the baseline: above 1 is faster.

    Attributes:
        value: exp of minus the median over launches of the paired log ratio.
        low: Lower end of the interval over launches, adjusted for the number of rows; null where there are too few
            launches for one, and where other programs were busier in the turns of one row.
        high: Upper end; null likewise.
        verdict: What the interval says.
        excludes_one: Whether the interval leaves 1 out; false without one.
        all_blocks_value: The same value over every block, disturbed ones included.
        reason: Why the value is marked, for example that precisions differ.
        all_blocks_verdict: What the interval over every block says; null where it was not derived.
        verified: Whether the answers of both rows were held against a reference; null in older documents.
        launches: How many measured both; null in older documents.
        confidence: Of the interval, at which the row was tested: by Holm's procedure above ``table_confidence`` where
            several rows are. Null without an interval, and in older documents.
        direction_confidence: At which this row alone is faster or slower, whichever it looks; null below 80 %.
        assumes_one_mode: Whether the interval assumes launches to scatter around one most frequent speed.
        table_confidence: That all that is called faster or slower in the table is, whenever the run stopped; null
            without an interval.
    """

    verdict: Verdict
    excludes_one: bool
    all_blocks_value: float
    reason: AnyMark | None = None
    all_blocks_verdict: Verdict | None = None
    verified: bool | None = None
    launches: int | None = None
    confidence: float | None = None
    direction_confidence: float | None = None
    assumes_one_mode: bool = False
    table_confidence: float | None = None

    @property
    def moves_with_all_blocks(self) -> bool:
        """Whether the value over all blocks lies outside the interval or range; false where there is neither."""
        return self.ends is not None and not self.ends.low <= self.all_blocks_value <= self.ends.high


class PhasesMs(msgspec.Struct, frozen=True, kw_only=True):
    """How long the first launch's phases took, in milliseconds: later ones may start from what it left in caches.

    ``None`` is a phase that was not timed. A struct, because ``import`` is a Python keyword and must be renamed.
    """

    import_: float | None = msgspec.field(name="import")
    load: float | None
    compile: float | None
    first_inference: float | None
    warm_up: float | None
    ready: float | None
