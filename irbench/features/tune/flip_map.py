"""Under which nearby conditions another setting would win: what is changed, and what a table of two rows says.

A condition is the same for both settings: at half the batch, the rival has the batch of the recommended setting too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Speedup, Verdict, is_too_slow
from irbench.features.tune.report import (
    Alternative,
    Condition,
    ConditionAxis,
    Flip,
    FlipOutcome,
    Gain,
    NotMeasured,
    Side,
    TunedSetting,
    TuningReport,
    Unable,
)
from irbench.spec import Precision, Timing

CONDITION = Timing(min_launches=4, max_launches=6, blocks=6, max_blocks=9, target=0.5)
"""As many launches as an interval needs, and more only while it is not known which setting is better."""

_OUTCOMES: dict[Verdict, FlipOutcome] = {
    "faster": "kept",
    "slower": "flipped",
    "same": "same",
    "undecided": "undecided",
    "preview": "undecided",
}


@dataclass(frozen=True)
class Surroundings:
    """What conditions are there.

    Attributes:
        processors: How many may be used.
        has_batches: Whether the model can be run with other batches.
        precisions: What both settings may be asked to compute in.
    """

    processors: int
    has_batches: bool
    precisions: Sequence[Precision] = ()


@dataclass(frozen=True)
class Pair:
    """Two settings under one condition.

    Attributes:
        setting: The recommended one.
        rival: What it is compared with.
    """

    setting: TunedSetting
    rival: TunedSetting


def conditions(setting: TunedSetting, around: Surroundings) -> tuple[Condition, ...]:
    """Return the nearest other conditions of a setting, the nearest first."""
    order = get_args(ConditionAxis)
    found = _conditions(setting, around)
    return tuple(sorted(found, key=lambda condition: (condition.distance, order.index(condition.axis))))


def ranked(report: TuningReport) -> tuple[Alternative, ...]:
    """Return the rows of a confirmation that the recommended setting may be compared with, the best first."""
    leader, setting = report.leader, report.setting
    measured = sorted(
        (other.gain.value, place) for place, other in enumerate(report.alternatives) if other.gain is not None
    )
    found = [report.alternatives[place] for _, place in measured]
    first = [] if leader is None else [Alternative(leader, None)]
    return tuple(other for other in (*first, *found) if setting is None or other.setting.row != setting.row)


def pair_under(
    condition: Condition, setting: TunedSetting, alternatives: Sequence[Alternative], processors: int
) -> Pair | None:
    """Return a setting and its strongest rival under a condition; ``None`` where every other one becomes the same.

    The rival is the best of another backend, and without one the best that still differs under the condition.

    Args:
        condition: What is different.
        setting: The recommended setting.
        alternatives: The rows of the confirmation, the best first.
        processors: How many may be used.
    """
    changed = _under(condition, setting, processors)
    rivals = [_under(condition, other.setting, processors) for other in alternatives]
    different = [rival for rival in rivals if _use(rival) != _use(changed)]
    elsewhere = (rival for rival in different if rival.backend != setting.backend)
    rival = next(elsewhere, different[0] if different else None)
    return None if rival is None else Pair(changed, rival)


def flip_of(condition: Condition, pair: Pair, table: GroupResult, run: str) -> Flip:
    """Return what a table of both settings says.

    Args:
        condition: What was different.
        pair: What was measured, each with the id of its row; the rival is the baseline.
        table: It.
        run: The id of its run.
    """
    by_id = {row.id: row for row in table.cells}
    setting, rival = by_id[pair.setting.row], by_id[pair.rival.row]
    unable = (*_unable("setting", setting), *_unable("rival", rival))
    gain = None if setting.speedup is None else _gain(setting.speedup)
    is_doubtful = table.lead is not None and table.lead.is_doubtful
    flip = Flip(condition, pair.setting, pair.rival, "undecided", gain, unable, run=run, is_doubtful=is_doubtful)
    if unable:
        return _by_elimination(flip)
    if setting.speedup is None:
        missing: NotMeasured = "interrupted" if table.stopped_by == "interrupt" else "failed"
        return replace(flip, outcome="not-measured", missing=missing)
    return replace(flip, outcome=_OUTCOMES[setting.speedup.verdict])


def nearest_flip(flips: Sequence[Flip]) -> Flip | None:
    """Return the flip under the nearest condition; ``None`` without any."""
    flipped = [flip for flip in flips if flip.outcome == "flipped"]
    return min(flipped, key=lambda flip: flip.condition.distance, default=None)


def share_s(left_s: float, conditions_left: int, needed_s: float) -> float | None:
    """Return how long the table of the next condition may take; ``None`` where there is too little time for one.

    Near conditions get what an interval needs, and the last ones are left out where that is too much for all.

    Args:
        left_s: What is left for all conditions.
        conditions_left: How many they are, the next one included.
        needed_s: What a table with intervals is expected to take.
    """
    if left_s < needed_s:
        return None
    return max(needed_s, left_s / conditions_left)


def _conditions(setting: TunedSetting, around: Surroundings) -> Iterator[Condition]:
    processors = around.processors
    yield Condition("neighbour", 1, 0, math.log2(processors / (processors - 1)) if processors > 1 else 1.0)
    if around.has_batches:
        yield from _counts("batch", setting.batch)
    if setting.instances == 1:
        yield from _counts("threads", setting.threads or processors, processors)
    else:
        yield from _counts("processors", processors, processors)
    yield from _counts("streams", setting.streams)
    for precision in around.precisions:
        if precision != setting.precision:
            yield Condition("precision", precision, setting.precision, 1.0)


def _counts(axis: ConditionAxis, count: int, most: int | None = None) -> Iterator[Condition]:
    """Yield half a number and its double, as far as there are such."""
    double = 2 * count if most is None else min(2 * count, most)
    for value in (count // 2, double):
        if value not in (0, count):
            yield Condition(axis, value, count, abs(math.log2(value / count)))


def _under(condition: Condition, setting: TunedSetting, processors: int) -> TunedSetting:
    """Return a setting as it is under a condition; it never has more threads than there are processors."""
    value = condition.value
    if condition.axis == "neighbour":
        return setting
    if isinstance(value, str):
        return replace(setting, precision=value, precision_required=True)
    if condition.axis == "batch":
        return replace(setting, batch=value)
    if condition.axis == "streams":
        return replace(setting, streams=value)
    if condition.axis == "threads":
        return replace(setting, threads=value, instances=max(1, min(setting.instances, processors // value)))
    instances = min(setting.instances, value)
    threads = setting.threads and min(setting.threads, max(1, value // instances))
    return replace(setting, instances=instances, threads=threads)


def _use(setting: TunedSetting) -> TunedSetting:
    """Return what tells settings apart when they are used."""
    return replace(setting, row="", label="", precision_required=True)


def _unable(side: Side, row: CellResult) -> Iterator[Unable]:
    if row.state in ("failed", "mismatch", "not-applicable"):
        yield Unable(side, "failed", None if row.failure is None else row.failure.message)
    elif is_too_slow(row):
        yield Unable(side, "too-slow")


def _by_elimination(flip: Flip) -> Flip:
    """Return a flip whose outcome is that of the only setting that can be used, where one can."""
    if len(flip.unable) > 1:
        return replace(flip, outcome="not-measured", missing="failed")
    fails = any(unable.side == "setting" for unable in flip.unable)
    return replace(flip, outcome="flipped" if fails else "kept")


def _gain(speedup: Speedup) -> Gain:
    is_preview = speedup.verdict == "preview"
    return Gain(
        speedup.value,
        low=speedup.low,
        high=speedup.high,
        is_preview=is_preview,
        range_low=speedup.range_low,
        range_high=speedup.range_high,
    )
