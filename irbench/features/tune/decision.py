"""Which setting is recommended after the confirmation, and which measured settings are worth a look."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, NoWinner, StoppedBy
from irbench.core.row import CellResult, cell_names, is_too_slow
from irbench.features.tune.report import (
    Alternative,
    BusyConfirmation,
    Conclusion,
    FewSettingsTried,
    FrontPoint,
    Gain,
    Preference,
    ReferenceKind,
    Reservation,
    ReservationReason,
    RowFigures,
    TunedSetting,
    TuningNote,
    setting_of,
)
from irbench.features.tune.search_schedule import ENOUGH_TRIED
from irbench.features.tune.tuning_rows import TuningRows
from irbench.optimizer import UNOPTIMIZED
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runs.measurement import StoredRun
from irbench.spec import Cell, Group
from irbench.stats.eligibility import decide_eligibility
from irbench.stats.figures import p50_ms_by_launch, within_max_latency
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import is_as_loaded, observe, observe_otherwise
from irbench.stats.orders import pair_order_doubt
from irbench.stats.rederive import planned_mixing, planned_timing, stored_admission
from irbench.stats.run_modes.training import is_training
from irbench.stats.speedups import launch_ratios, within_band
from irbench.stats.stopping_rule import launches_planned, launches_to_reach
from irbench.stats.winner import LeadEstimate, doubt, find_winner, rivals_of, throughput_ratio
from irbench.store.runs import read_launches

_FAR, _FAR_IN_DOUBT = 0.1, 0.2
"""From this share on a lead decides also where its interval includes 1, or there is none: it is mostly real, and much
to give up; the second where something speaks against it."""
_ROUND_S = 60.0
_MARGIN = 1.2
"""Launches scatter, and so does what they take: a budget is named that has so much to spare."""
_FEW_TRIED = 20
"""With fewer a clearly better setting was often missed in made and replayed searches."""
_RANKS: Mapping[ReferenceKind | None, int] = {"default": 0, "hint": 1, None: 2}
_TIME_DECIDES = ("few-launches", "interval-includes-1", "may-be-better")


@dataclass(frozen=True)
class PairEvidence:
    """What is known of the leader's lead over one reference besides its interval.

    Attributes:
        doubt: What outside the interval speaks against this lead; ``None`` where nothing does.
        other_figures: ln of the same lead by figures that a disturbance changes differently: over all blocks, and by
            throughput.
    """

    doubt: NoWinner | None = None
    other_figures: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A row against each other one that it can be compared with.

    Attributes:
        rivals: The interval of ln of its lead over each, by the id of that row.
        evidence: What else is known of each lead, by the same ids.
    """

    rivals: Mapping[str, Interval]
    evidence: Mapping[str, PairEvidence] = field(default_factory=dict[str, PairEvidence])

    def only(self, rows: Iterable[str]) -> Comparison:
        """Return the comparison with some of these rows."""
        kept = set(rows)
        return replace(self, rivals={row: lead for row, lead in self.rivals.items() if row in kept})

    def evidence_of(self, row: str) -> PairEvidence:
        """Return what else is known of the lead over a row."""
        return self.evidence.get(row, PairEvidence())


@dataclass(frozen=True)
class RowTraits:
    """What decides between rows none of which is known to be better than another.

    Attributes:
        complexity: Smaller for simpler settings: :func:`complexity`.
        latency_ms: The median latency of its calls in each launch, by the launch's number; empty where it does not
            matter.
    """

    complexity: tuple[int, ...]
    latency_ms: Mapping[int, float] = field(default_factory=dict[int, float])

    @property
    def median_ms(self) -> float:
        """The median latency over launches; 0 where latencies do not matter."""
        return statistics.median(self.latency_ms.values()) if self.latency_ms else 0.0

    def is_clearly_later(self, other: RowTraits, within: float) -> bool:
        """Whether the latency is higher than that of another row by more than counts, in every launch of both.

        Without launches of both, whether all of the own ones are higher than all of the other's.
        """
        if not self.latency_ms or not other.latency_ms:
            return False
        common = self.latency_ms.keys() & other.latency_ms.keys()
        if not common:
            return min(self.latency_ms.values()) > (1 + within) * max(other.latency_ms.values())
        return all(self.latency_ms[launch] > (1 + within) * other.latency_ms[launch] for launch in common)


@dataclass(frozen=True)
class TuneDecision:
    """The recommendation that follows from a confirmation.

    Attributes:
        row: The id of the recommended row; ``None`` where nothing could be measured.
        leader: The id of the row that was the best; another one is recommended where it is as good, and costs less.
        preferred_by: Why the recommended row is not the leader; ``None`` where it is.
    """

    conclusion: Conclusion
    row: str | None
    leader: str | None
    reservations: tuple[Reservation, ...] = ()
    preferred_by: Preference | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether more launches are not expected to change what is said of the row and of defaults and hints."""
        return self.row is not None and not self.reservations


def decide(
    leader: str | None,
    able: Sequence[str],
    references: Mapping[str, ReferenceKind],
    compared: Callable[[str], Comparison],
    traits: Mapping[str, RowTraits],
    within: float,
) -> TuneDecision:
    """Return what is recommended: of the rows that are not known to be worse than another, the least costly.

    A row is known to be worse than another where the interval of that one's lead over it excludes 1, and the lead is
    above ``within``. Where something speaks against that lead, the interval must lie above ``within``, and all other
    figures above 1. A large lead is enough by itself, until more launches tell. Who costs more than a reference that
    was left behind must be known to be better than it. Of the rows that are left, these properties decide in turn:

    1. Latency: rows go whose p50 is clearly above the lowest one, by more than ``within`` in every launch of both.
       Latencies do not matter where they are what was asked for, and those of training steps do not.
    2. Simplicity (:func:`complexity`): defaults, then hints, then the setting that differs least from its default.
    3. What was asked for.

    Args:
        leader: The best row of the confirmation; ``None`` where no two rows could be compared.
        able: Ids of the rows that may be recommended.
        references: What the user has without tuning, by the id of its row.
        compared: Returns a row against each other one.
        traits: What each row costs, by its id.
        within: Half-width of the band around 1 that counts as the same.
    """
    if leader is None:
        return _without_leader(able, references)
    row, preferred_by = _least_costly(leader, references, compared, traits, within)
    own = compared(row)
    if row in references:
        conclusion, reservations = _of_reference(row, leader, own, compared(leader), within)
    else:
        comparable = references.keys() & own.rivals.keys()
        later = {other for other in comparable if traits[other].is_clearly_later(traits[row], within)}
        conclusion, reservations = _of_setting(own, comparable, later, within)
    return TuneDecision(conclusion, row, leader, reservations, preferred_by)


def _of_reference(
    row: str, leader: str, own: Comparison, lead: Comparison, within: float
) -> tuple[Conclusion, tuple[Reservation, ...]]:
    """Return what is concluded of a default or a hint: it is confirmed where no other row may be better by more."""
    others = own.only(own.rivals.keys() - {leader})
    open_rows = tuple(_reservations(others, -math.log1p(within), "may-be-better"))
    if row == leader:
        return "reference", open_rows
    if _is_same(lead.rivals[row], lead.evidence_of(row), within):
        return conclusion_of(open_rows) if open_rows else "same", open_rows
    reservations = (*(tuple(_reservations(lead.only([row]))) or (Reservation("same", row),)), *open_rows)
    return conclusion_of(reservations), reservations


def _of_setting(
    own: Comparison, references: Collection[str], later: Collection[str], within: float
) -> tuple[Conclusion, tuple[Reservation, ...]]:
    """Return what is concluded of a setting of the search.

    It is confirmed where it is better than every reference, or cannot be worse by more than counts than one whose
    latency is clearly higher. Other settings may be better.

    Args:
        own: It against each other row.
        references: Those that it can be compared with.
        later: Those of them whose latency is clearly higher.
        within: Half-width of the band around 1 that counts as the same.
    """
    if not references:
        return "unopposed", tuple(_reservations(own, -math.inf))
    matched = {row for row in later if not any(_reservations(own.only([row]), -math.log1p(within)))}
    reservations = tuple(_reservations(own.only(set(references) - matched)))
    if reservations:
        return conclusion_of(reservations), reservations
    return "same" if any(own.rivals[row].low <= 0 for row in matched) else "better", ()


def _least_costly(
    leader: str,
    references: Collection[str],
    compared: Callable[[str], Comparison],
    traits: Mapping[str, RowTraits],
    within: float,
) -> tuple[str, Preference | None]:
    """Return the row, and by what it is preferred to the leader, if it is another one."""
    lead = compared(leader)
    rows = (leader, *lead.rivals)
    worse = {row: _known_worse(compared(row), within) for row in rows}
    behind = set().union(*worse.values()) - {leader}

    def costs_less(other: str, row: str) -> bool:
        is_simpler = traits[other].complexity < traits[row].complexity
        return is_simpler and not traits[other].is_clearly_later(traits[row], within)

    left = [
        row
        for row in rows
        if row not in behind
        and all(other in worse[row] for other in behind.intersection(references) if costs_less(other, row))
    ] or [leader]
    lowest = traits[min(left, key=lambda row: traits[row].median_ms)]
    quick = [row for row in left if not traits[row].is_clearly_later(lowest, within)]
    ahead = {row: -interval.value for row, interval in lead.rivals.items()} | {leader: 0.0}
    row = min(quick, key=lambda row: (traits[row].complexity, -ahead[row]))
    return row, None if row == leader else "simplicity" if leader in quick else "latency"


def _known_worse(comparison: Comparison, within: float) -> set[str]:
    rivals = comparison.rivals.items()
    return {row for row, lead in rivals if _is_known_worse(lead, comparison.evidence_of(row), within)}


def _is_known_worse(lead: Interval, evidence: PairEvidence, within: float) -> bool:
    """Whether the leader is better by more than counts than the row that it is ahead of by ``lead``.

    Where other programs were busier beside one of the two, no figure says so.
    """
    figures = (lead, *evidence.other_figures)
    if evidence.doubt == "uneven-load":
        return False
    far = math.log1p(_FAR if evidence.doubt is None else _FAR_IN_DOUBT)
    if lead.confidence is None or all(figure.value > far for figure in figures):
        return all(figure.value > far for figure in figures)
    if evidence.doubt is None:
        return lead.low > 0 and lead.value > math.log1p(within)
    return lead.low > math.log1p(within) and all(figure.low > 0 for figure in figures)


def _reservations(
    comparison: Comparison, edge: float = 0.0, below: ReservationReason = "interval-includes-1"
) -> Iterator[Reservation]:
    """Yield what keeps leads from being known to be above an edge; ``below`` names an interval that is not."""
    for row, interval in comparison.rivals.items():
        doubt = comparison.evidence_of(row).doubt
        if interval.confidence is None:
            yield Reservation("few-launches", row)
        elif interval.low <= edge:
            yield Reservation(below, row)
        if doubt is not None:
            yield Reservation(doubt, row)


def conclusion_of(reservations: Sequence[Reservation]) -> Conclusion:
    """Return what a lead with reservations against it is called."""
    reasons = {reservation.reason for reservation in reservations}
    if reasons & {"interval-includes-1", "may-be-better", "same", "rates-overlap", "rates-close"}:
        return "undecided"
    return "preview" if reasons == {"few-launches"} else "doubtful"


def _is_same(interval: Interval, evidence: PairEvidence, within: float) -> bool:
    is_known = interval.confidence is not None and evidence.doubt is None
    return is_known and within_band(interval.low, interval.high, within)


def _without_leader(able: Sequence[str], references: Mapping[str, ReferenceKind]) -> TuneDecision:
    if not able:
        return TuneDecision("nothing", None, None)
    row = next((row for row in able if row in references), able[0])
    return TuneDecision("reference" if row in references else "unopposed", row, row)


def pareto_front(points: Iterable[FrontPoint], within: float) -> tuple[FrontPoint, ...]:
    """Return the points of which none has both a higher latency and no more frames per second than another.

    More frames per second count only if they are more than the share ``within``.
    """
    front: list[FrontPoint] = []
    for point in sorted(points, key=lambda each: (each.latency_ms, -each.fps)):
        if not front or point.fps > (1 + within) * front[-1].fps:
            front.append(point)
    return tuple(front)


def row_traits(state: TableState, references: Mapping[str, ReferenceKind]) -> dict[str, RowTraits]:
    """Return what each row of a table costs besides what was asked for, by its id."""
    cells = state.group.cells
    matters = state.group.objective != "latency" and not any(map(is_training, cells))
    return {
        row: RowTraits(simple, p50_ms_by_launch(state.records, state.launches, row) if matters else {})
        for row, simple in complexities(map(setting_of, cells), references).items()
    }


def complexities(
    settings: Iterable[TunedSetting], references: Mapping[str, ReferenceKind]
) -> dict[str, tuple[int, ...]]:
    """Return the complexity of each row, by its id, compared with the default of its backend.

    Without one, another backend's default is what a user has, and without any a setting is compared with one that
    leaves everything but batch and precision to the runtime.
    """
    settings = tuple(settings)
    defaults = [setting for setting in settings if references.get(setting.row) == "default"]
    found: dict[str, tuple[int, ...]] = {}
    for setting in settings:
        plain = replace(setting, threads=None, streams=1, instances=1, optimize=UNOPTIMIZED, options={})
        own = (default for default in defaults if default.backend == setting.backend)
        found[setting.row] = complexity(setting, references.get(setting.row), next(own, (*defaults, plain)[0]))
    return found


def complexity(setting: TunedSetting, kind: ReferenceKind | None, default: TunedSetting) -> tuple[int, ...]:
    """Return how far a setting is from what a user has without tuning, to be compared with that of others.

    Defaults are simpler than the vendor's hints, and these than others: a hint is one option, whatever it changes. Of
    these, one is simpler in which fewer settings differ from the default; then with fewer inferences in flight,
    processes, threads, and samples in a call.
    """
    axes = ("batch", "threads", "streams", "instances", "precision", "optimize")
    changed = sum(getattr(setting, axis) != getattr(default, axis) for axis in axes)
    options = len({key for key, _ in setting.options.items() ^ default.options.items()})
    sizes = (setting.streams * setting.instances, setting.instances, setting.threads or 0, setting.batch)
    return (_RANKS[kind], changed + options, *sizes)


def comparison_of(state: TableState, row: str) -> Comparison:
    """Return a row against each other candidate of a table that it can be compared with."""
    candidates = state.eligibility.candidates
    rivals = rivals_of(row, state.launches, candidates, state.timing, state.eligibility.link)
    counts = -math.log1p(state.timing.within)
    evidence = {
        other: PairEvidence(
            _doubt(state, row, other) if lead.value > counts else None, tuple(_other_figures(state, row, other))
        )
        for other, lead in rivals.items()
    }
    return Comparison(rivals, evidence)


def _doubt(state: TableState, leader: str, rival: str) -> NoWinner | None:
    """Return what speaks against a lead, or against being as good; a row that is further behind claims neither."""
    busy: NoWinner | None = "busy" if is_as_loaded(state.launches) else None
    return doubt(state, LeadEstimate(leader, rival)) or busy or pair_order_doubt(state, leader, rival)


def _other_figures(state: TableState, leader: str, reference: str) -> Iterator[Interval]:
    """Yield ln of the lead over all blocks, and where frames per second are compared, by throughput."""
    everything = launch_ratios(state.all_blocks, reference, leader)
    if everything:
        yield interval_at(everything, looks_of(state.timing), state.timing.confidence)
    if state.group.objective != "fps":
        return  # what is best in something else need not be so in throughput
    throughput = throughput_ratio(state, leader, reference)
    if throughput is not None:
        yield throughput


def deciding_budget_s(
    state: TableState, rivals: Mapping[str, Interval], reservations: Sequence[Reservation], before_s: float
) -> float | None:
    """Return the budget that is expected to confirm or refute a recommendation, in seconds, in whole minutes.

    ``None`` where nothing needs to be decided, where so many launches would be needed that nobody would wait for
    them, and where more launches alone do not help: on a busy machine, for example. ``before_s`` is spent before the
    confirmation.
    """
    reasons = {reservation.reason for reservation in reservations}
    if not state.records or not reasons or reasons - set(_TIME_DECIDES):
        return None
    needed = [_launches(state, rivals[each.row]) for each in reservations]
    counts = [count for count in needed if count is not None]
    if len(counts) < len(needed):
        return None
    launch_s = state.seconds / len(state.records)
    return whole_minutes(before_s + _MARGIN * max(counts) * launch_s)


def _launches(state: TableState, interval: Interval) -> int | None:
    """Return how many launches are expected to tell a lead from none, or to show that it does not matter."""
    if interval.confidence is None:
        return math.ceil(launches_planned(len(state.eligibility.candidates), state.timing))
    counts = math.log1p(state.timing.within)
    is_behind = -counts < interval.value < 0
    half_width = interval.value + counts if is_behind else max(abs(interval.value), counts)
    return launches_to_reach(interval, half_width, state.timing)


def whole_search_s(tried: int, settings: int, stopped_by: StoppedBy, search_s: float) -> float:
    """Return the time of a search that no budget ends, in seconds: a larger budget goes to the search first.

    ``tried`` of ``settings`` were launched in ``search_s``.
    """
    enough = min(settings, ENOUGH_TRIED)
    return search_s * enough / tried if stopped_by == "budget" and 0 < tried < enough else search_s


def with_one_budget(
    deciding_s: float | None, notes: Sequence[TuningNote]
) -> tuple[float | None, tuple[TuningNote, ...]]:
    """Return the budget that decides and the notes, which name the same one: the largest that either takes."""
    named = [note.budget_s for note in notes if isinstance(note, FewSettingsTried)]
    if deciding_s is None or not named:
        return deciding_s, tuple(notes)
    largest = max(deciding_s, *named)
    return largest, tuple(
        FewSettingsTried(tried=note.tried, settings=note.settings, enough=note.enough, budget_s=largest)
        if isinstance(note, FewSettingsTried)
        else note
        for note in notes
    )


def search_notes(
    tried: int, settings: int, stopped_by: StoppedBy, search_s: float, rest_s: float
) -> tuple[TuningNote, ...]:
    """Return the notes of a search; ``rest_s`` is spent besides, above all on the confirmation."""
    enough = min(settings, ENOUGH_TRIED)
    if stopped_by != "budget" or not 0 < tried < min(settings, _FEW_TRIED):
        return ()
    budget_s = whole_minutes(rest_s + whole_search_s(tried, settings, stopped_by, search_s))
    return (FewSettingsTried(tried=tried, settings=settings, enough=enough, budget_s=budget_s),)


def confirmation_notes(table: GroupResult, reservations: Iterable[Reservation]) -> tuple[TuningNote, ...]:
    """Return that other programs disturbed most of the confirmation, unless it is among the reservations."""
    disturbed = table.blocks_disturbed
    told = any(reservation.reason == "busy" for reservation in reservations)
    if disturbed is None or not table.is_mostly_disturbed or told:
        return ()
    return (BusyConfirmation(disturbed=disturbed, blocks=table.blocks_measured),)


def whole_minutes(seconds: float) -> float:
    """Return a time in whole minutes, at least as long."""
    return _ROUND_S * math.ceil(seconds / _ROUND_S)


@dataclass(frozen=True)
class Finalists:
    """The table of the confirmation.

    Attributes:
        references: The kind of each of its rows that is a reference, by id.
    """

    planned: PlannedGroup
    references: Mapping[str, ReferenceKind]

    @classmethod
    def of(cls, rows: TuningRows, best: Sequence[str], refused: Iterable[str] = ()) -> Finalists:
        """Return the ``best`` rows of a search, in their order, with the references of the first.

        The first of these references is the baseline. Sometimes no row is the best. Those ``refused`` would have been
        among the best, and are shown with the reason why they may not be used.
        """
        cells = {cell.id: cell for cell in rows.planned.group.cells}
        leader = cells[best[0]] if best else rows.defaults[0]
        references = rows.references(leader.load.batch)
        kept = with_rows(rows.planned, {*best, *references, *refused})
        return cls(replace(kept, group=replace(kept.group, baseline=rows.default_of(leader))), references)


@dataclass(frozen=True)
class Confirmed:
    """What follows from the confirmation.

    Attributes:
        settings: The rows, by id.
        alternatives: Every row but the leader, against it.
        leader_kind: What the leader is for, where it is a reference.
    """

    decision: TuneDecision
    settings: Mapping[str, TunedSetting]
    alternatives: tuple[Alternative, ...]
    deciding_budget_s: float | None = None
    notes: tuple[TuningNote, ...] = ()
    leader_kind: ReferenceKind | None = None

    @classmethod
    def of(cls, finalists: Finalists, stored: StoredRun, before_s: float) -> Confirmed:
        """Return what follows from a stored confirmation; ``before_s`` is the time before it, if there is enough."""
        group = finalists.planned.group
        table = stored.document.groups[0]
        records = tuple(read_launches(stored.folder, stored.document))
        state = _state(group, table, stored, records)
        able = state.eligibility.candidates
        leader = find_winner(state.launches, able, state.timing, state.eligibility.link).leader
        references, compared = finalists.references, cache(partial(comparison_of, state))
        decision = decide(leader, able, references, compared, row_traits(state, references), state.timing.within)
        lead = {} if leader is None else compared(leader).rivals
        own = {} if leader is None or decision.row in {None, leader} else compared(decision.row or "").rivals
        names = cell_names(group)
        settings = {cell.id: setting_of(cell, names[cell.id]) for cell in group.cells}
        others = (row for row in table.cells if row.id != decision.leader)
        return cls(
            decision,
            settings,
            tuple(_alternative(row, settings[row.id], lead, own, references.get(row.id)) for row in others),
            deciding_budget_s(state, {**lead, **own}, decision.reservations, before_s),
            confirmation_notes(table, decision.reservations),
            references.get(decision.leader or ""),
        )


def front_of(
    search: Mapping[str, Cell], tables: Sequence[tuple[GroupResult, bool]], within: float
) -> tuple[FrontPoint, ...]:
    """Return the measured settings than which none has both lower latency and more frames per second.

    Args:
        search: Every row by its id.
        tables: Each with whether it was measured under the full protocol; a row of a later one replaces an earlier.
        within: Frames per second that differ by this share count as the same.
    """
    points: dict[str, FrontPoint] = {}
    for table, confirmed in tables:
        wrong = {row.id for row in table.cells if row.state in ("failed", "mismatch")}
        points = {row: point for row, point in points.items() if row not in wrong}
        points |= {point.setting.row: point for point in _points(search, table, confirmed=confirmed)}
    return pareto_front(points.values(), within)


def figures_of(table: GroupResult) -> dict[str, RowFigures]:
    """Return what the rows of a table measured, by their ids."""
    return {
        row.id: RowFigures(row.latency_ms.p50, row.fps)
        for row in table.cells
        if row.latency_ms is not None and row.fps is not None
    }


def _points(search: Mapping[str, Cell], table: GroupResult, *, confirmed: bool) -> Iterator[FrontPoint]:
    for row in table.cells:
        if row.state == "ok" and row.latency_ms is not None and row.fps is not None and row.id in search:
            yield FrontPoint(setting_of(search[row.id]), row.latency_ms.p50, row.fps, confirmed)


def _state(group: Group, table: GroupResult, stored: StoredRun, records: Sequence[LaunchRecord]) -> TableState:
    """Return the state of the confirmation."""
    plan = stored.document.plan
    timing = planned_timing(plan)
    launches = observe(group, records, timing)
    admission = stored_admission(table, records, allow_mixed=planned_mixing(plan))
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    return TableState(
        group,
        records,
        launches,
        observe_otherwise(group, records, launches, timing),
        eligibility,
        {row.id: row for row in table.cells},
        timing,
        table.stopped_by,
        table.seconds,
        table.uneven_load,
    )


def _alternative(
    row: CellResult,
    setting: TunedSetting,
    lead: Mapping[str, Interval],
    own: Mapping[str, Interval],
    kind: ReferenceKind | None,
) -> Alternative:
    behind = lead.get(row.id)
    if behind is None:
        return Alternative(
            setting,
            kind,
            failure=None if row.failure is None else row.failure.message,
            is_too_slow=is_too_slow(row),
        )
    return Alternative(setting, kind, _gain(behind), recommended_gain=_gain(own[row.id]) if row.id in own else None)


def _gain(lead: Interval) -> Gain:
    return Gain(math.exp(lead.value), is_preview=lead.confidence is None, **lead.ends(math.exp))
