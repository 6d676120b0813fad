"""Tuning for a service level: which settings are given requests, for how long, and which holds the highest rate.

A search finds settings by calls back to back. The best of them and the references are then served requests as
``irbench serve`` does, and each has a rate up to which it passes and one from which on it fails. Between these it is
not known, so one setting is better than another where it passes at a rate at which the other fails.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

from irbench.core.row import cell_names
from irbench.core.serving_row import ServingTable
from irbench.errors import IrbenchError
from irbench.features.tune.confirmation_plan import ConfirmationByCalls, ConfirmationPlan, confirmation_timing
from irbench.features.tune.decision import (
    Confirmed,
    Finalists,
    TuneDecision,
    complexities,
    conclusion_of,
    whole_minutes,
)
from irbench.features.tune.launch_costs import LaunchCosts, RowCost
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.features.tune.queue_model import held_share
from irbench.features.tune.report import (
    Alternative,
    BusyRequests,
    Conclusion,
    Gain,
    HeldRate,
    ReferenceKind,
    Reservation,
    ReservationReason,
    setting_of,
)
from irbench.features.tune.tuning_rows import TuningRows
from irbench.options.option import refuse_excluded
from irbench.requests.run_requests import refuse_contradictions, require_batch_to_wait_for
from irbench.spec import Cell, Timing
from irbench.spec.serving import Queueing, ServiceLevel, ServingPlan
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.stats.run_modes.serving import FINEST, MOST_PROBES, Probe, apparent_ends, requests_to_pass

_SHARE = 0.6
"""Of the budget, what serving requests has: a rate is found by trying several for some time."""
_LOADS = 8.5
"""How many loads a row has in the first round: those of a search, and half of one at once; later ones have fewer."""
_SPARE = 0.9
_AMPLE = 2
"""So many times the requests that pass without a miss decide most rates: some do miss, and others wait together."""
_SHORTEST_S = 0.5
_MARGIN = 1.2
"""Rounds scatter in what they take."""
_MOST_TIMES = 20
"""Nobody waits for a budget that is so many times as large."""


def refuse_contradictions_of_search(options: TuneOptions) -> None:
    """Refuse options that cannot be obeyed together, or without a service level.

    Raises:
        IrbenchError: There is such a pair.
    """
    refuse_contradictions(replace(options.run, models=(options.model,), objective=options.objective))
    refuse_excluded(SimpleNamespace(**{**vars(options.run), **vars(options)}), TUNE.options)
    if options.batch_wait is None:
        return
    if options.slo is None:
        raise IrbenchError(
            "`--batch-wait` is for requests that arrive on their own.",
            hint='Say what their answers must keep: `--slo "p99<=50ms"`, for example.',
        )
    require_batch_to_wait_for(options.run.batch or ())


@dataclass(frozen=True)
class ConfirmationByRequests(ConfirmationPlan):
    """What a search must leave time for where its best settings are then given requests.

    Attributes:
        level: What answers must keep.
        wait_ms: How long a call waits for its batch to be full.
        seconds: The whole budget.
    """

    level: ServiceLevel
    wait_ms: float
    seconds: float

    def needed_s(self, _best: Sequence[str], _costs: LaunchCosts, /) -> float:
        """Return how long requests are served: longer where the search ends sooner."""
        return _SHARE * self.seconds

    def usable_share(self, cell: Cell, call_ms: float, /) -> float:
        """Return which share of its throughput a setting can be loaded with, by :mod:`queue_model`."""
        load, level = cell.load, self.level
        return held_share(load.streams, load.batch, call_ms, self.wait_ms, level.percentile, level.limit_ms)

    def has_time_for(self, best: Sequence[str], costs: LaunchCosts, left_s: float, /) -> bool:
        """Whether they can be given requests that decide a rate of each."""
        return self._load_s(best, costs, left_s) >= self._enough_s(best, costs)

    def serving(self, best: Sequence[str], costs: LaunchCosts, left_s: float, /) -> ServingPlan:
        """Return how requests are served: as long as is usual, or as decides a rate, if there is so much time."""
        longest_s = max(ServingPlan.seconds, self._enough_s(best, costs))
        seconds = max(_SHORTEST_S, min(longest_s, self._load_s(best, costs, left_s)))
        return ServingPlan(level=self.level, seconds=round(seconds, 1), queueing=Queueing(batch_wait_ms=self.wait_ms))

    def timing_of(self, rows: int, /) -> Timing:
        """Return the protocol, whose confidence holds for all rates of all rows together."""
        return replace(self.timing, confidence=adjusted_confidence(self.timing.confidence, rows))

    def _load_s(self, best: Sequence[str], costs: LaunchCosts, left_s: float) -> float:
        """Return how long a load may take, so that enough rounds fit."""
        rows = costs.of(self.rows(best))
        return (_SPARE * left_s / FEWEST_LAUNCHES - _starts_s(rows, self.timing)) / (_LOADS * len(rows))

    def _enough_s(self, best: Sequence[str], costs: LaunchCosts) -> float:
        """Return how long the slowest setting must be served until its requests decide a rate."""
        confidence = adjusted_confidence(self.timing.confidence, len(self.rows(best)))
        needed = _AMPLE * requests_to_pass(self.level.percentile, confidence) / FEWEST_LAUNCHES
        rates = [self._expected_per_s(cell, costs) for cell in best]
        return needed / min(rates, default=math.inf)

    def _expected_per_s(self, cell: str, costs: LaunchCosts) -> float:
        (cost,), load = costs.of((cell,)), self.cells[cell].load
        share = self.usable_share(self.cells[cell], 1e3 * cost.completion_s * load.concurrency)
        return share * load.batch / cost.completion_s


def _starts_s(rows: Sequence[RowCost], timing: Timing) -> float:
    """Return how long rows take to start and warm up, in a round of launches."""
    warm_ups_s = (max(timing.warm_up, timing.warm_up_calls * row.completion_s) for row in rows)
    return sum(row.start_s for row in rows) + sum(warm_ups_s)


def least_serving_s(rows: Sequence[RowCost], timing: Timing) -> float:
    """Return how long rows are served at least where enough rounds of launches are to fit, in seconds."""
    return FEWEST_LAUNCHES * (_starts_s(rows, timing) + _LOADS * len(rows) * _SHORTEST_S) / _SPARE


def confirmation_plan(options: TuneOptions, rows: TuningRows) -> ConfirmationPlan:
    """Return how the best settings are confirmed: by calls, or by requests where there is a service level."""
    cells = {cell.id: cell for cell in rows.planned.group.cells}
    timing = confirmation_timing(rows.request.timing)
    if options.slo is None:
        return ConfirmationByCalls(cells, rows.references, timing)
    wait_ms = 1e3 * (options.batch_wait or 0.0)
    return ConfirmationByRequests(cells, rows.references, timing, options.slo, wait_ms, options.budget)


def adjusted_confidence(confidence: float, rows: int) -> float:
    """Return the confidence of each test with which all tests of so many rows are right together: by Bonferroni.

    A row has as many as a launch of it tries at most.
    """
    return 1 - (1 - confidence) / (max(1, rows) * MOST_PROBES)


def held_rates(table: ServingTable) -> dict[str, HeldRate]:
    """Return at which rate each row keeps the level, by its id; rows that answered no request are left out."""
    assert table.level is not None
    probes: dict[str, list[Probe]] = {}
    for row in table.rows:
        load = row.load
        if load is not None and load.level is not None and load.rate_per_s is not None:
            probe = Probe(load.rate_per_s, load.level, table.level.percentile)
            probes.setdefault(row.id, []).append(probe)
    limits = {limit.cell: limit for limit in table.limits}
    return {
        row: HeldRate(_apparent(own, limits[row].passes_per_s), limits[row].passes_per_s, limits[row].fails_per_s)
        for row, own in probes.items()
    }


def _apparent(probes: Sequence[Probe], passes_per_s: float | None) -> float | None:
    """Return the rate that looks kept: the one that passes, also where a lower one looks broken by chance."""
    return max(apparent_ends(probes)[0], passes_per_s or 0.0) or None


def doubts_of(table: ServingTable) -> tuple[ReservationReason, ...]:
    """Return what speaks against every difference of a table.

    Tests pool the requests of all launches, so how much launches differ is not in them: it takes enough launches.
    """
    few: tuple[ReservationReason, ...] = ("few-launches",) if table.rounds < FEWEST_LAUNCHES else ()
    return (*few, "busy") if table.is_disturbed else few


def decide_by_rates(
    held: Mapping[str, HeldRate],
    references: Mapping[str, ReferenceKind],
    complexity: Mapping[str, tuple[int, ...]],
    doubts: Sequence[ReservationReason] = (),
) -> TuneDecision:
    """Return what is recommended: the simplest of the rows that seem to hold the highest rate.

    Those are the leader, and the rows that may hold as high a rate and seem to hold one that a search does not tell
    apart from the leader's; who is not as simple as a reference that the leader is better than must be better than it
    too. Latencies do not matter: the level says which are good enough. A setting is confirmed where it passes at a rate
    at which each reference fails, and nothing speaks against the table.

    Args:
        held: By the id of each row.
        references: What the user has without tuning, by the id of its row.
        complexity: Smaller for simpler settings, by the id of each row.
        doubts: What speaks against every difference.
    """
    rates = {row: rate.per_s for row, rate in held.items() if rate.per_s is not None}
    if not rates:
        return TuneDecision("nothing", None, None)
    leader = max(rates, key=lambda row: (rates[row], row in references))
    beaten = {
        row: {other for other in references if other in held and _is_below(held[other], held[row])} for row in rates
    }
    lost = set().union(*beaten.values())
    as_high = [
        row
        for row in rates
        if not any(_is_below(held[row], held[other]) for other in rates if other != row)
        and _is_close(held[row], held[leader])
        and all(other in beaten[row] for other in lost if complexity[other] < complexity[row])
    ]
    row = min({leader, *as_high}, key=lambda row: (complexity[row], -rates[row]))
    if row in references:
        ahead = leader
        against = {other for other in held if other == row or (other in references) != (leader in references)} - {
            leader
        }
    else:
        ahead = row
        against = references.keys() & held.keys() or held.keys() - {row}
    rivals = {other: rate for other, rate in held.items() if other in against}
    reservations = tuple(_reservations(held[ahead], rivals, doubts))
    if row == leader and leader in references:
        conclusion: Conclusion = "reference"
    elif not references.keys() & held.keys():
        conclusion = "unopposed"
    else:
        conclusion = conclusion_of(reservations) if reservations else "better"
    return TuneDecision(conclusion, row, leader, reservations, None if row == leader else "simplicity")


def _reservations(
    leader: HeldRate, others: Mapping[str, HeldRate], doubts: Sequence[ReservationReason]
) -> Iterator[Reservation]:
    for row, rate in others.items():
        if not _is_below(rate, leader):
            yield Reservation("rates-close" if _is_close(rate, leader) else "rates-overlap", row)
        yield from (Reservation(doubt, row) for doubt in doubts)


def _is_close(rate: HeldRate, leader: HeldRate) -> bool:
    """Whether a search does not tell the rates apart that both seem to hold."""
    return (leader.per_s or 0.0) <= FINEST * (rate.per_s or 0.0)


def _is_below(rate: HeldRate, leader: HeldRate) -> bool:
    return (leader.passes_per_s or 0.0) >= (rate.fails_per_s or math.inf)


def confirmed_by_rates(finalists: Finalists, table: ServingTable, before_s: float) -> Confirmed:
    """Return what follows from the requests that were served; ``before_s`` was spent before."""
    group, held = finalists.planned.group, held_rates(table)
    names = cell_names(group)
    settings = {cell.id: setting_of(cell, names[cell.id]) for cell in group.cells}
    simple = complexities(settings.values(), finalists.references)
    decision = decide_by_rates(held, finalists.references, simple, doubts_of(table))
    failures = {row.id: row.failure.message for row in table.rows if row.failure is not None}
    leader = held.get(decision.leader or "")
    is_found = decision.row not in {decision.leader, *finalists.references}
    found = held.get(decision.row or "") if is_found else None
    others = (cell.id for cell in group.cells if cell.id != decision.leader)
    alternatives = (
        Alternative(
            settings[row],
            finalists.references.get(row),
            gain_over(leader, held.get(row)),
            failures.get(row),
            recommended_gain=None if row == decision.row else gain_over(found, held.get(row)),
        )
        for row in others
    )
    deciding_s = deciding_budget_s(table, decision, before_s)
    notes = (BusyRequests(foreign_share=table.foreign_share),) if table.foreign_share and table.is_disturbed else ()
    kind = finalists.references.get(decision.leader or "")
    return Confirmed(decision, settings, tuple(alternatives), deciding_s, notes, kind)


def gain_over(leader: HeldRate | None, other: HeldRate | None) -> Gain | None:
    """Return how many times as high a rate the leader holds; ``None`` where the other seems to hold none.

    The ends follow from between which rates each ceases to keep the level, where both are known.
    """
    if leader is None or other is None or leader.per_s is None or other.per_s is None:
        return None
    ends = (leader.passes_per_s, other.fails_per_s, leader.fails_per_s, other.passes_per_s)
    passes, fails, highest, lowest = ends
    value = leader.per_s / other.per_s
    if passes is None or fails is None or highest is None or lowest is None:
        return Gain(value, is_preview=False)
    return Gain(value, low=passes / fails, high=highest / lowest, is_preview=False)


def deciding_budget_s(table: ServingTable, decision: TuneDecision, before_s: float) -> float | None:
    """Return the budget that is expected to tell rates apart, in seconds, in whole minutes.

    ``None`` where nothing needs to be decided, where rates are so close that a search does not tell them apart, where
    other programs disturbed it, and where it is so large that nobody would wait for it.
    """
    reasons = {each.reason for each in decision.reservations}
    if not reasons or reasons - {"few-launches", "rates-overlap"} or not table.rounds:
        return None
    times = _MARGIN * FEWEST_LAUNCHES / table.rounds if "few-launches" in reasons else 1.0
    overlapping = {each.row for each in decision.reservations if each.reason == "rates-overlap"}
    if overlapping:
        assert table.level is not None
        needed = _AMPLE * requests_to_pass(table.level.percentile, table.confidence)
        concerned = {*overlapping, decision.row or "", decision.leader or ""}
        times = max(times, 2.0, needed / _fewest_tested(table, concerned))
    if times > _MOST_TIMES:
        return None
    serving_s = times * table.seconds
    return whole_minutes(max(before_s + serving_s, serving_s / _SHARE))


def _fewest_tested(table: ServingTable, rows: Collection[str]) -> int:
    """Return how many requests the best tested rate has of the row of which that is the fewest; 1 at least."""
    most = dict.fromkeys(rows, 1)
    for row in table.rows:
        if row.id in most and row.load is not None and row.load.level is not None:
            most[row.id] = max(most[row.id], row.load.level.requests)
    return min(most.values())
