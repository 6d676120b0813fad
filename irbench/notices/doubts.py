"""Warnings that cost the answer less than those of :mod:`irbench.notices.warnings`, again the gravest first.

Something is another question than a reader may think, or is only imprecise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, Union

import msgspec

from irbench.core.quantities import (
    LONGEST_LISTING,
    listing,
    percent,
    percents_apart,
    plural,
    shortened,
    significant,
    times,
)
from irbench.notices.base import Context, ExampleFacts, RowId
from irbench.notices.warnings import Warn

_TIMES_LONGER = 3
"""What a warm-up that ended too early is suggested to be multiplied by."""


class RegimeRow(msgspec.Struct, frozen=True):
    """A row's speedup over the blocks of one state."""

    cell: RowId
    speedup: float


class Regime(msgspec.Struct, frozen=True):
    """The blocks in which vCPUs were so far apart, and what rows gained in them."""

    core_to_core_ns: float
    blocks: int
    rows: tuple[RegimeRow, ...]

    def text(self, caches: str, context: Context) -> str:
        """Return what was measured in a state that is called so."""
        speedups = [f"{context.name(row.cell)} {times(row.speedup)}" for row in self.rows]
        where = f"{caches} ({self.core_to_core_ns:.0f} ns, {plural(self.blocks, 'block')})"
        return f"{where} {listing(speedups)}" if speedups else where


class RegimeChange(Warn):
    code = "regime-change"
    says = "the vCPUs stopped sharing a cache for part of the run"

    near: Regime
    far: Regime

    def brief(self, context: Context) -> str:
        return "The vCPUs stopped sharing a cache for part of the run."

    def detail(self, context: Context) -> str:
        near, far = self.near.text("shared cache", context), self.far.text("no shared cache", context)
        return f"The intervals cover both states: {near}; {far}."

    def remedy(self, context: Context) -> str:
        return (
            "Quote the figures of the state that you deploy in, or use one thread; another run may see only"
            " one of them."
        )

    @classmethod
    def example(cls) -> Self:
        near = Regime(core_to_core_ns=53.0, blocks=40, rows=(RegimeRow("ort", 1.31),))
        return cls(near=near, far=Regime(core_to_core_ns=330.0, blocks=24, rows=(RegimeRow("ort", 1.12),)))


class SlowRow(msgspec.Struct, frozen=True):
    """How many launches of a row were slower than its others, and by which fraction."""

    cell: RowId
    slow_launches: int
    launches: int
    slower: float

    def text(self, context: Context) -> str:
        """Return how many were slower, and by how much."""
        verb = "was" if self.slow_launches == 1 else "were"
        share = f"{self.slow_launches} of {plural(self.launches, 'launch')} of {context.name(self.cell)}"
        return f"{share} {verb} {percent(self.slower)} slower"


def _slower(rows: Iterable[SlowRow], context: Context) -> str:
    return f"{listing(row.text(context) for row in rows)} than the others."


class TwoModes(Warn):
    code = "two-modes"
    says = "launches run at one of two speeds"

    rows: tuple[SlowRow, ...]
    example_facts: ClassVar[ExampleFacts] = {"rows": (SlowRow("ort", slow_launches=3, launches=6, slower=0.082),)}

    def brief(self, context: Context) -> str:
        return f"Launches of {context.listed(row.cell for row in self.rows)} run at one of two speeds."

    def detail(self, context: Context) -> str:
        return _slower(self.rows, context)

    def remedy(self, context: Context) -> str:
        more = "" if context.thorough else " More launches (--thorough) show how often each occurs."
        return f"Each process start gets one of them: quote both.{more}"


class WaitingRow(msgspec.Struct, frozen=True):
    """For which share of a row's run time its threads waited for each other, and how many of them ran."""

    cell: RowId
    share: float
    running: float
    threads: int | None

    def text(self, context: Context) -> str:
        """Return how long they waited."""
        of_all = f" of {self.threads}" if self.threads is not None else ""
        return (
            f"{percent(self.share, 0)} of the run time of {context.name(self.cell)} (on average"
            f" {self.running:.1f}{of_all} threads ran)"
        )


class WaitsOnItself(Warn):
    code = "waits-on-itself"
    says = "a row has more busy threads than processors"

    rows: tuple[WaitingRow, ...]
    example_facts: ClassVar[ExampleFacts] = {"rows": (WaitingRow("tf", share=1.4, running=1.9, threads=4),)}

    def brief(self, context: Context) -> str:
        names = context.listed(row.cell for row in self.rows)
        return f"Threads of {names} compete with each other for processors."

    def detail(self, context: Context) -> str:
        waits = listing(row.text(context) for row in self.rows)
        return f"Even in undisturbed blocks, their waiting adds up to {waits}."

    def remedy(self, context: Context) -> str:
        more = ", or give it more processors with --cpus" if context.can_add_processors else ""
        return f"Lower --threads or --streams{more}."


class LateCalls(Warn):
    """The load with the largest lag, of ``loads`` such ones; its rate is ``None`` where it follows from the answers.

    ``batch_wait_ms`` is how much of the lag may be a wait for a batch to be full, ``latency_ms`` the percentile of
    latency ``percentile``, the highest that is known.
    """

    code = "late-calls"
    says = "calls that answer requests began late although a slot was free"

    cell: RowId
    rate_per_s: float | None
    loads: int
    lag_ms: float
    batch_wait_ms: float
    percentile: int
    latency_ms: float
    example_facts: ClassVar[ExampleFacts] = {
        "cell": "ort",
        "rate_per_s": 40.0,
        "loads": 2,
        "lag_ms": 5.0,
        "batch_wait_ms": 0.0,
        "percentile": 99,
        "latency_ms": 11.0,
    }

    def brief(self, context: Context) -> str:
        at = "" if self.rate_per_s is None else f" at {self.rate_per_s:,.4g}/s"
        return (
            f"Calls began late: lag p99 of {context.name(self.cell)}{at} is {significant(self.lag_ms)} ms, beside a"
            f" p{self.percentile} of {significant(self.latency_ms)} ms."
        )

    def detail(self, context: Context) -> str:
        sentences = ["A slot was free, and latencies include the lag."]
        if self.batch_wait_ms:
            sentences.append(f"Up to {self.batch_wait_ms:g} ms of it may be for --batch-wait.")
        if self.loads > 1:
            sentences.append(f"It is one of {self.loads} such loads.")
        return " ".join([*sentences, "Waking a thread takes some 0.05 ms anyway."])

    def remedy(self, context: Context) -> str:
        return "Leave a processor to whoever issues requests (fewer --threads), or close other programs."


class ThreadsRow(msgspec.Struct, frozen=True):
    """How many threads a row uses."""

    cell: RowId
    threads: int


class ThreadsDiffer(Warn):
    code = "threads-differ"
    says = "the runtimes use different numbers of threads"

    rows: tuple[ThreadsRow, ...]
    has_streams: bool
    example_facts: ClassVar[ExampleFacts] = {
        "rows": (ThreadsRow("ort", 2), ThreadsRow("openvino", 1)),
        "has_streams": False,
    }

    def brief(self, context: Context) -> str:
        used = listing(f"{context.name(row.cell)} {row.threads}" for row in self.rows)
        return f"Rows use different numbers of threads: {used}."

    def remedy(self, context: Context) -> str:
        if self.has_streams:
            return "Some runtimes need a thread for each stream: use no more --streams than --threads."
        return "Set it with --threads N."


class WarmingRow(msgspec.Struct, frozen=True):
    """After how many calls a row's warm-ups ended too early, and in how many launches of all."""

    cell: RowId
    calls: int
    launches: int
    of: int


class StillWarmingUp(Warn):
    code = "still-warming-up"
    says = "calls of a row still got faster when its warm-up ended"

    rows: tuple[WarmingRow, ...]
    example_facts: ClassVar[ExampleFacts] = {"rows": (WarmingRow("tf-xla", calls=300, launches=4, of=4),)}

    def brief(self, context: Context) -> str:
        ended = listing(f"{context.name(row.cell)} after {row.calls:,} calls" for row in self.rows)
        return f"Calls still got faster when the warm-up ended: {ended}."

    def detail(self, context: Context) -> str:
        return "Its figures are those of a process that is not warm, so it may be faster than they say."

    def remedy(self, context: Context) -> str:
        return f"Warm up for longer: --warmup {_TIMES_LONGER * max((row.calls for row in self.rows), default=1)}."


class AloneRow(msgspec.Struct, frozen=True):
    """By which fraction a row is faster alone than in its rounds."""

    cell: RowId
    faster: float


class AloneUnlikeRounds(Warn):
    code = "alone-unlike-rounds"
    says = "a row has another speed when it runs alone than in its rounds"

    rows: tuple[AloneRow, ...]
    seconds: float
    example_facts: ClassVar[ExampleFacts] = {"rows": (AloneRow("ort", 0.536),), "seconds": 4.0}

    def brief(self, context: Context) -> str:
        rows = listing(
            f"{context.name(row.cell)} is {percent(abs(row.faster))} {'faster' if row.faster > 0 else 'slower'}"
            for row in self.rows
        )
        return f"Run alone for {self.seconds:g} s, {rows} than in its rounds."

    def remedy(self, context: Context) -> str:
        return (
            "A runtime that gets faster after many calls is measured too early: give it more with --warmup, such as"
            " --warmup 10s. Otherwise it depends on what runs beside it."
        )


class UnsteadyRow(msgspec.Struct, frozen=True):
    """By which fraction the later half of a row's blocks is slower than the earlier one."""

    cell: RowId
    slower: float


class NotSteady(Warn):
    """``beside_commands``: whether rows become slower beside commands, which may have started late."""

    code = "not-steady"
    says = "a row gets faster or slower within its launches"

    rows: tuple[UnsteadyRow, ...]
    beside_commands: bool = False
    example_facts: ClassVar[ExampleFacts] = {"rows": (UnsteadyRow("tf-xla", -0.042),)}

    def brief(self, context: Context) -> str:
        rows = listing(
            f"{context.name(row.cell)} {percent(abs(row.slower))} {'slower' if row.slower > 0 else 'faster'}"
            for row in self.rows
        )
        return f"Speed changes within launches, from earlier to later blocks: {rows}."

    def remedy(self, context: Context) -> str:
        if self.beside_commands:
            return "What runs beside them was not ready yet, or presses harder later: --neighbour-warmup lets it start."
        return "The figures include part of the warm-up, or the clock frequency changed: --sustain shows a later speed."


class LaunchesDepend(Warn):
    code = "launches-depend"
    says = "consecutive launches are correlated"

    cells: tuple[RowId, ...]
    example_facts: ClassVar[ExampleFacts] = {"cells": ("ort",)}

    def brief(self, context: Context) -> str:
        return f"Consecutive launches of {context.listed(self.cells)} are correlated."

    def detail(self, context: Context) -> str:
        return "Something changed slowly during the run: the interval describes that time, and may not hold at another."

    def remedy(self, context: Context) -> str:
        return (
            "Repeat the run at another time, and look for what changes: clock frequency, temperature, other"
            " virtual machines."
        )


class RatioRow(msgspec.Struct, frozen=True):
    """A row's ratio to the baseline by another way of measuring, and its speedup."""

    cell: RowId
    ratio: float
    speedup: float


def _ratios(rows: Iterable[RatioRow], context: Context) -> str:
    return listing(f"{context.name(row.cell)} {times(row.ratio)} instead of {times(row.speedup)}" for row in rows)


class ShortNeighbour(msgspec.Struct, frozen=True):
    """What was asked of a row's neighbour, and what it did: processors to keep busy, or calls per second."""

    cell: RowId
    asked: float
    achieved: float
    unit: str

    def text(self, context: Context) -> str:
        """Return how much it did of what was asked."""
        amounts = f"{significant(self.achieved, digits=2)} of {self.asked:g}"
        return f"{context.name(self.cell)} ({amounts} {self.unit})"


class NeighboursFallShort(Warn):
    """``share_processors``: whether all of these neighbours run on processors that the model uses too."""

    code = "neighbours-fall-short"
    says = "what runs beside a row does less than was asked of it"

    rows: tuple[ShortNeighbour, ...]
    share_processors: bool
    example_facts: ClassVar[ExampleFacts] = {
        "rows": (ShortNeighbour("ort", asked=0.75, achieved=0.5, unit="processors"),),
        "share_processors": True,
    }

    def brief(self, context: Context) -> str:
        did = shortened((row.text(context) for row in self.rows), "row")
        return f"Neighbours did less than was asked of them: {did}."

    def detail(self, context: Context) -> str:
        return "Slowdowns are beside what they did: beyond that, asking for more does not press harder."

    def remedy(self, context: Context) -> str:
        if self.share_processors:
            return "The model uses their processors too: give each its own with --cpus and --neighbour-cpus."
        if all(row.unit == "calls/s" for row in self.rows):
            return "Their calls take too long for it: lower --rate, or give them more with --neighbour-cpus."
        return "Something else uses their processors: find it with irbench doctor, or choose others (--neighbour-cpus)."


class SustainedDiffers(Warn):
    code = "sustained-differs"
    says = "speedups differ when each row runs alone"

    rows: tuple[RatioRow, ...]
    seconds: float
    example_facts: ClassVar[ExampleFacts] = {"rows": (RatioRow("ort", ratio=1.05, speedup=1.14),), "seconds": 3.0}

    def brief(self, context: Context) -> str:
        rows = _ratios(self.rows, context)
        return f"When each row runs alone for {self.seconds:g} s, the speedup differs: {rows}."

    def remedy(self, context: Context) -> str:
        return (
            "A long run heats the processor and has the caches to itself: for a server, quote the sustained"
            f" {context.throughput}."
        )


class ReversedPair(msgspec.Struct, frozen=True):
    """How many times as fast the first row is as the other, back to back and at the pace."""

    cell: RowId
    other: RowId
    back_to_back: float
    at_pace: float

    def text(self, context: Context) -> str:
        """Return by how much the order turns round."""
        own, other = context.name(self.cell), context.name(self.other)
        return f"{own} against {other}: {times(self.at_pace)} instead of {times(self.back_to_back)}"


class PacedDiffers(Warn):
    code = "paced-differs"
    says = "speedups differ when calls come at the pace of `--pace`"

    rows: tuple[RatioRow, ...]
    reversed: tuple[ReversedPair, ...]
    pace_ms: float

    def brief(self, context: Context) -> str:
        pace = f"At a pace of {self.pace_ms:g} ms"
        if not self.reversed:
            return f"{pace} the speedup differs: {_ratios(self.rows, context)}."
        pairs = (f"{context.name(pair.other)} before {context.name(pair.cell)}" for pair in self.reversed)
        return f"{pace} the order is reversed: {listing(pairs)}."

    def detail(self, context: Context) -> str:
        return f"{'; '.join(pair.text(context) for pair in self.reversed)}." if self.reversed else ""

    def remedy(self, context: Context) -> str:
        return (
            "Between calls threads fall asleep and clocks slow down: if your calls come one at a time, choose by the"
            " paced latency."
        )

    @classmethod
    def example(cls) -> Self:
        pair = ReversedPair("ort", "tf", back_to_back=1.14, at_pace=0.95)
        return cls(rows=(RatioRow("ort", ratio=0.95, speedup=1.14),), reversed=(pair,), pace_ms=10.0)


class FpsDiffer(Warn):
    code = "fps-differ"
    says = "the speedup by FPS differs from that by medians"

    rows: tuple[RatioRow, ...]
    example_facts: ClassVar[ExampleFacts] = {"rows": (RatioRow("ort x4", ratio=3.07, speedup=5.14),)}

    def brief(self, context: Context) -> str:
        return f"Measured by {context.throughput}, the speedup differs: {_ratios(self.rows, context)}."

    def detail(self, context: Context) -> str:
        return f"{context.throughput} include slow calls, medians ignore them."

    def remedy(self, context: Context) -> str:
        return f"Compare p90 as well: if the slow calls are the backend's own, a server gets the {context.throughput}."


class NotFrozen(Warn):
    code = "not-frozen"
    says = "idle workers could not be stopped"

    def brief(self, context: Context) -> str:
        return "Idle workers could not be stopped here."

    def detail(self, context: Context) -> str:
        return "Instead, each round waited until the other workers were idle."

    def remedy(self, context: Context) -> str:
        return "Measure on Linux, where processes can be stopped: a runtime that spins while idle disturbs the others."


class SlowLaunches(Warn):
    code = "slow-launches"
    says = "a few launches were slower than the others"

    rows: tuple[SlowRow, ...]
    example_facts: ClassVar[ExampleFacts] = {"rows": (SlowRow("ort", slow_launches=1, launches=6, slower=0.082),)}

    def brief(self, context: Context) -> str:
        if len(self.rows) <= LONGEST_LISTING:
            return _slower(self.rows, context)
        most = percent(max(row.slower for row in self.rows))
        names = context.listed(row.cell for row in self.rows)
        return f"Single launches of {names} were up to {most} slower than the others."

    def detail(self, context: Context) -> str:
        return _slower(self.rows, context) if len(self.rows) > LONGEST_LISTING else ""

    def remedy(self, context: Context) -> str:
        often = "" if context.thorough else "; --thorough shows how often this happens"
        return f"The median is not affected{often}."


class WideInterval(Warn):
    code = "wide-interval"
    says = "the run ended before the interval was as narrow as its target"

    cell: RowId
    is_lead: bool
    half_width: float
    target: float
    launches_needed: int | None
    launches_dominate: bool
    stopped_by: str
    example_facts: ClassVar[ExampleFacts] = {
        "cell": "openvino",
        "is_lead": True,
        "half_width": 0.024,
        "target": 0.01,
        "launches_needed": 16,
        "launches_dominate": True,
        "stopped_by": "launches",
    }

    def brief(self, context: Context) -> str:
        of = "lead" if self.is_lead else "time"
        known, target = percents_apart(self.half_width, self.target)
        return f"The {of} of {context.name(self.cell)} is known to ±{known}; the target is ±{target}."

    def detail(self, context: Context) -> str:
        if not self.launches_dominate:
            return ""
        return "Launches differ far more than the blocks of one launch, so longer launches will not help."

    def remedy(self, context: Context) -> str:
        if self.launches_needed is None:
            return "No reasonable number of launches would reach it: find out why launches differ."
        ways = [] if context.thorough else ["--thorough"]
        if self.stopped_by == "budget":
            ways.append("a larger --budget")
        how = f"use {' or '.join(ways)}" if ways else "repeat the run on a quieter machine"
        return f"About {plural(self.launches_needed, 'launch')} would reach it: {how}."


if TYPE_CHECKING:
    AnyWarn: TypeAlias = Warn
else:
    AnyWarn: Any = Union[tuple(Warn.known)]  # noqa: UP007 - of all that are declared above
"""What a field holds that any warning may stand in, as documents are read."""
