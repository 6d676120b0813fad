"""Under which nearby conditions another setting would win: what is changed, and what a table of two rows says.

A condition is the same for both settings: at half the batch, the rival has the batch of the recommended setting too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.result import GroupResult
from irbench.core.row import ENDED_EARLY, CellResult, Speedup, Verdict, cell_names, is_too_slow
from irbench.errors import IrbenchError
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import (
    Alternative,
    ChangedCondition,
    ConditionAxis,
    Flip,
    FlipOutcome,
    Gain,
    NotMeasured,
    Side,
    TunedSetting,
    TuningReport,
    Unable,
    setting_of,
)
from irbench.features.tune.search_progress import condition_text, measuring_flips_text
from irbench.features.tune.search_schedule import with_requested
from irbench.features.tune.tuning_rows import TuningRows
from irbench.measure.clock import Stopwatch
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.options.run import RunOptions
from irbench.requests import probes
from irbench.requests.run_requests import planned, requested
from irbench.runner.neighbours import NeighbourEnded
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun
from irbench.spec import Cell, Precision, Timing
from irbench.system import host

CONDITION = Timing(min_launches=4, max_launches=6, blocks=6, max_blocks=9, target=0.5)
"""As many launches as an interval needs, and more only while it is not known which setting is better."""
_OUTCOMES: dict[Verdict, FlipOutcome] = {
    "faster": "kept",
    "slower": "flipped",
    "same": "same",
    "undecided": "undecided",
    "preview": "undecided",
}
_SHARE = 0.5
"""Of the budget, what the flip map may take on top of it."""
_NATIVE: Literal["native"] = "native"


@dataclass(frozen=True)
class Surroundings:
    """What conditions are possible.

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
    """The recommended setting and its rival under one condition."""

    setting: TunedSetting
    rival: TunedSetting


def conditions(setting: TunedSetting, around: Surroundings) -> tuple[ChangedCondition, ...]:
    """Return the nearest other conditions of a setting, the nearest first."""
    order = get_args(ConditionAxis)
    return tuple(
        sorted(_conditions(setting, around), key=lambda condition: (condition.distance, order.index(condition.axis)))
    )


def ranked(report: TuningReport) -> tuple[Alternative, ...]:
    """Return the rows of a confirmation that the recommended setting may be compared with, the best first."""
    leader, setting = report.leader, report.setting
    measured = sorted(
        (other.gain.value, place) for place, other in enumerate(report.alternatives) if other.gain is not None
    )
    others = [report.alternatives[place] for _, place in measured]
    first = [] if leader is None else [Alternative(leader, None)]
    return tuple(other for other in (*first, *others) if setting is None or other.setting.row != setting.row)


def pair_under(
    condition: ChangedCondition, setting: TunedSetting, alternatives: Sequence[Alternative], processors: int
) -> Pair | None:
    """Return a setting and its strongest rival under a condition; ``None`` where every other one becomes the same.

    The rival is the best of another backend, and without one the best that still differs under the condition;
    ``alternatives`` stand in order, the best first.
    """
    changed = _under(condition, setting, processors)
    rivals = [_under(condition, other.setting, processors) for other in alternatives]
    different = [rival for rival in rivals if _use(rival) != _use(changed)]
    elsewhere = (rival for rival in different if rival.backend != setting.backend)
    rival = next(elsewhere, different[0] if different else None)
    return None if rival is None else Pair(changed, rival)


def flip_of(condition: ChangedCondition, pair: Pair, table: GroupResult, run: str) -> Flip:
    """Return what a table of both settings says; the rival is its baseline."""
    by_id = {row.id: row for row in table.cells}
    setting, rival = by_id[pair.setting.row], by_id[pair.rival.row]
    unable = (*_unable("setting", setting), *_unable("rival", rival))
    gain = None if setting.speedup is None else _gain(setting.speedup)
    is_doubtful = table.lead is not None and table.lead.is_doubtful
    flip = Flip(condition, pair.setting, pair.rival, "undecided", gain, unable, run=run, is_doubtful=is_doubtful)
    if unable:
        return _by_elimination(flip)
    if setting.speedup is None:
        missing: NotMeasured = "interrupted" if table.stopped_by in ENDED_EARLY else "failed"
        return replace(flip, outcome="not-measured", missing=missing)
    return replace(flip, outcome=_OUTCOMES[setting.speedup.verdict])


def share_s(left_s: float, conditions_left: int, needed_s: float) -> float | None:
    """Return how long the table of the next condition may take; ``None`` where there is too little time for one.

    Near conditions get what an interval needs, and the last ones are left out where that is too much for all.

    Args:
        left_s: Left for all conditions.
        conditions_left: The next one included.
        needed_s: What a table with intervals is expected to take.
    """
    if left_s < needed_s:
        return None
    return max(needed_s, left_s / conditions_left)


def _conditions(setting: TunedSetting, around: Surroundings) -> Iterator[ChangedCondition]:
    processors = around.processors
    yield ChangedCondition("neighbour", 1, 0, math.log2(processors / (processors - 1)) if processors > 1 else 1.0)
    if around.has_batches:
        yield from _counts("batch", setting.batch)
    if setting.instances == 1:
        yield from _counts("threads", setting.threads or processors, processors)
    else:
        yield from _counts("processors", processors, processors)
    yield from _counts("streams", setting.streams)
    for precision in around.precisions:
        if precision != setting.precision:
            yield ChangedCondition("precision", precision, setting.precision, 1.0)


def _counts(axis: ConditionAxis, count: int, most: int | None = None) -> Iterator[ChangedCondition]:
    """Yield half of a number and its double, as far as they exist."""
    double = 2 * count if most is None else min(2 * count, most)
    for value in (count // 2, double):
        if value not in (0, count):
            yield ChangedCondition(axis, value, count, abs(math.log2(value / count)))


def _under(condition: ChangedCondition, setting: TunedSetting, processors: int) -> TunedSetting:
    """Return a setting under a condition; it never has more threads than there are processors."""
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
    return replace(setting, row="", label="", precision_required=True)


def _unable(side: Side, row: CellResult) -> Iterator[Unable]:
    if row.state in ("failed", "mismatch", "not-applicable"):
        yield Unable(side, "failed", None if row.failure is None else row.failure.message)
    elif is_too_slow(row):
        yield Unable(side, "too-slow")


def _by_elimination(flip: Flip) -> Flip:
    """Return a flip that the only usable setting wins, if there is one."""
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


@dataclass(frozen=True)
class FlipMapMeans:
    """How the tables of a flip map are measured, and where progress goes."""

    scratch: Path
    measure: Callable[[RunRequest, PlannedGroup], StoredRun]
    say: Say


def with_flips(
    report: TuningReport, confirmation: GroupResult, options: TuneOptions, rows: TuningRows, means: FlipMapMeans
) -> TuningReport:
    """Return a report with the flip map of the setting that it recommends.

    A launch of a row is expected to take what it took in the ``confirmation``.
    """
    flip_map = _FlipMap(options, means, report, _needed_s(confirmation), has_batches=rows.has_batches)
    flip_map.measure()
    return replace(report, flips=flip_map.flips, is_flip_map_interrupted=flip_map.is_interrupted)


class _FlipMap:
    def __init__(
        self, options: TuneOptions, means: FlipMapMeans, report: TuningReport, needed_s: float, *, has_batches: bool
    ) -> None:
        self.flips: tuple[Flip, ...] = ()
        self.is_interrupted = False
        self._run = replace(options.run, objective=options.objective, max_latency=options.max_latency)
        self._has_batches = has_batches
        self._seconds = _SHARE * options.budget
        self._means = means
        self._report = report
        self._needed_s = needed_s
        self._used_s = 0.0

    def measure(self) -> None:
        """Measure every condition that there is time for; an interrupt ends it."""
        pairs = self._conditions()
        self._means.say(measuring_flips_text(len(pairs), self._seconds))
        for place, (condition, pair) in enumerate(pairs):
            try:
                flip = self._flip(condition, pair, len(pairs) - place)
            except KeyboardInterrupt:  # between tables: within one it ends the table
                self.is_interrupted = True
                flip = _unmeasured(condition, pair, "interrupted")
            self.flips = (*self.flips, flip)

    def _conditions(self) -> Sequence[tuple[ChangedCondition, Pair]]:
        """Return the conditions with the settings that are compared under each, the nearest first."""
        setting, others = self._report.setting, ranked(self._report)
        if setting is None or not others:
            return ()
        nearest = Pair(setting, _nearest_rival(setting.backend, others))
        around = surroundings(nearest, self._run, has_batches=self._has_batches)
        pairs = (
            (condition, pair_under(condition, setting, others, around.processors))
            for condition in conditions(setting, around)
        )
        return [(condition, pair) for condition, pair in pairs if pair is not None]

    def _flip(self, condition: ChangedCondition, pair: Pair, conditions_left: int) -> Flip:
        if self.is_interrupted:
            return _unmeasured(condition, pair, "interrupted")
        left_s = self._seconds - self._used_s
        needed_s = self._needed_s if self._used_s else min(left_s, self._needed_s)
        share = share_s(left_s, conditions_left, needed_s)
        if share is None:
            return _unmeasured(condition, pair, "no-time")
        try:
            folder = self._means.scratch / f"flip-{len(self.flips)}"
            planned = condition_rows(condition, pair, self._run, folder, has_batches=self._has_batches)
        except IrbenchError as error:
            return _unmeasured(condition, pair, "impossible", error.message)
        return self._measured(condition, pair, planned, share)

    def _measured(self, condition: ChangedCondition, pair: Pair, planned: ConditionRows, share: float) -> Flip:
        self._means.say(condition_text(condition))
        watch = Stopwatch()
        try:
            stored = self._means.measure(self._request(condition, planned.request, share), planned.planned)
        except NeighbourEnded as error:
            return _unmeasured(condition, pair, "neighbour-ended", error.message)
        finally:
            self._used_s += watch.elapsed_s
        table = stored.document.groups[0]
        self.is_interrupted = table.stopped_by in ENDED_EARLY
        self._needed_s = _needed_s(table) or self._needed_s
        return flip_of(condition, planned.pair, table, stored.document.run_id)

    def _request(self, condition: ChangedCondition, request: RunRequest, share: float) -> RunRequest:
        run, text = self._run, condition_text(condition)
        busy = host.allowance(run.cpus).cpus[-1:] if condition.axis == "neighbour" else ()
        timing = replace(with_requested(CONDITION, request.timing), busy_processors=busy)
        origin = f"flip map of {self._report.confirmation_run}: {text}"
        named = request.asking(
            name=f"{run.name} {text}" if run.name else "", note="; ".join(filter(None, (run.note, origin)))
        )
        return replace(named, timing=timing, budget_s=share)


def _nearest_rival(backend: str, others: Sequence[Alternative]) -> TunedSetting:
    elsewhere = (other.setting for other in others if other.setting.backend != backend)
    return next(elsewhere, others[0].setting)


def _unmeasured(condition: ChangedCondition, pair: Pair, missing: NotMeasured, message: str | None = None) -> Flip:
    return Flip(condition, pair.setting, pair.rival, "not-measured", missing=missing, message=message)


def _needed_s(table: GroupResult) -> float:
    """Return the expected time for the launches of an interval of two rows, by what a table took."""
    launched = sum(row.launches_measured or 0 for row in table.cells)
    return 2 * CONDITION.min_launches * table.seconds / launched if launched else 0.0


@dataclass(frozen=True)
class ConditionRows:
    """The table of a condition: the rival, which is the baseline, and the setting.

    Attributes:
        pair: Both, with the ids and labels of their rows.
    """

    request: RunRequest
    planned: PlannedGroup
    pair: Pair


def surroundings(pair: Pair, run: RunOptions, *, has_batches: bool) -> Surroundings:
    """Return what conditions two settings can be measured under."""
    both = (pair.setting, pair.rival)
    return Surroundings(len(host.allowance(run.cpus).cpus), has_batches, _precisions(both, run.precision))


def condition_rows(
    condition: ChangedCondition, pair: Pair, run: RunOptions, scratch: Path, *, has_batches: bool
) -> ConditionRows:
    """Return the table that compares two settings under a condition."""
    both = (pair.setting, pair.rival)
    options = _options(condition, both, run)
    options = options if has_batches else replace(options, batch=run.batch)
    request = replace(requested(options), alternatives=_alternatives(both, options), is_part_of="tune")
    request, groups = planned(request, scratch, lambda _line: None)
    if len(groups) != 1:
        raise IrbenchError("The two settings do not fit into one table.", hint="Give one --batch.")
    setting, rival = (_row_of(each, groups[0].group.cells) for each in both)
    kept = with_rows(groups[0], {setting, rival})
    names = cell_names(kept.group)
    return ConditionRows(
        request.asking(rows=(setting, rival)),
        replace(kept, group=replace(kept.group, baseline=rival)),
        Pair(
            replace(pair.setting, row=setting, label=names[setting]),
            replace(pair.rival, row=rival, label=names[rival]),
        ),
    )


def _options(condition: ChangedCondition, both: Sequence[TunedSetting], run: RunOptions) -> RunOptions:
    """Return options that ask for every combination of the values of both settings."""
    cpus = host.allowance(run.cpus).cpus
    names = {_name(each) for each in both}
    return replace(
        run,
        backends=tuple(dict.fromkeys(each.backend for each in both)),
        batch=tuple(dict.fromkeys(each.batch for each in both)),
        streams=tuple(dict.fromkeys(each.streams for each in both)),
        instances=tuple(dict.fromkeys(each.instances for each in both)),
        threads=tuple(dict.fromkeys(each.threads or _NATIVE for each in both)),
        optimize=tuple(dict.fromkeys(each.optimize for each in both)),
        precision=(str(condition.value),) if condition.axis == "precision" else run.precision,
        cpus=cpus[: int(condition.value)] if condition.axis == "processors" else run.cpus,
        set={name: options for name, options in run.set.items() if name in names},
        vary={},
    )


def _alternatives(both: Sequence[TunedSetting], run: RunOptions) -> dict[str, tuple[Mapping[str, str], ...]]:
    """Return the sets of options that rows of each backend have: none, and those that not every row has."""
    alternatives: dict[str, tuple[Mapping[str, str], ...]] = {}
    for each in both:
        shared = run.set.get(_name(each), {})
        own = {key: value for key, value in each.options.items() if shared.get(key) != value}
        known = alternatives.get(_name(each), ({},))
        alternatives[_name(each)] = known if own in known else (*known, own)
    return alternatives


def _row_of(setting: TunedSetting, cells: Sequence[Cell]) -> str:
    """Return the id of the row that is a setting."""
    for cell in cells:
        row = setting_of(cell, setting.label)
        if replace(row, row=setting.row, precision_required=setting.precision_required) == setting:
            return cell.id
    raise IrbenchError(f"{setting.label} cannot be planned under this condition.", hint="Leave --flip-map out.")


def _precisions(both: Sequence[TunedSetting], searched: Sequence[str] | None) -> tuple[Precision, ...]:
    """Return the precisions that both can compute in: those that were searched, else those of the probes."""
    if any(each.optimize != UNOPTIMIZED and variant(each.optimize).conversion is not None for each in both):
        return ()  # a graph that was converted runs in its own
    probed = [_probed(each) for each in both]
    tried = tuple(searched or ()) if len(searched or ()) > 1 else probed[0]
    return tuple(name for name in probed[0] if name in tried and all(name in other for other in probed))


def _probed(setting: TunedSetting) -> tuple[Precision, ...]:
    address = BackendAddress.parse(setting.backend)
    availability = probes.remembered(registry.describe(registry.BACKENDS, address.name))
    names = () if availability is None else availability.precisions.get(address.device, ())
    return tuple(name for name in get_args(Precision) if name in names and name != "int8")


def _name(setting: TunedSetting) -> str:
    return BackendAddress.parse(setting.backend).name
