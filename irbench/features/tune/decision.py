"""Which setting is recommended after the confirmation, and which measured settings are worth a look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
    ReferenceKind,
    Reservation,
    RowFigures,
    TunedSetting,
    TuningNote,
    setting_of,
)
from irbench.features.tune.search_schedule import ENOUGH_TRIED
from irbench.features.tune.tuning_rows import TuningRows
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runs.measurement import StoredRun
from irbench.spec import Cell, Group
from irbench.stats.eligibility import decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import is_as_loaded, observe, observe_otherwise
from irbench.stats.orders import pair_order_doubt
from irbench.stats.rederive import planned_mixing, planned_timing, stored_admission
from irbench.stats.speedups import launch_ratios, within_band
from irbench.stats.stopping_rule import launches_planned, launches_to_reach
from irbench.stats.winner import LeadEstimate, doubt, find_winner, throughput_ratio
from irbench.store.runs import read_launches

_FAR, _FAR_IN_DOUBT = 0.05, 0.1
"""A lead beyond this share is recommended until it is confirmed even if its interval includes 1; the second where
something speaks against it."""
_ROUND_S = 60.0
_MARGIN = 1.2
"""Launches scatter, and so does what they take: a budget is named that has so much to spare."""
_FEW_TRIED = 20
"""With fewer a clearly better setting was often missed in made and replayed searches."""
_TIME_DECIDES = ("few-launches", "interval-includes-1")


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
class TuneDecision:
    """The recommendation that follows from a confirmation.

    Attributes:
        row: The id of the recommended row; ``None`` where nothing could be measured.
        leader: The id of the row that was the best.
        is_confirmed: Whether more launches are not expected to change it.
    """

    conclusion: Conclusion
    row: str | None
    leader: str | None
    is_confirmed: bool = False
    reservations: tuple[Reservation, ...] = ()


def decide(
    lead: LeadEstimate,
    able: Sequence[str],
    references: Mapping[str, ReferenceKind],
    evidence: Mapping[str, PairEvidence],
    within: float,
) -> TuneDecision:
    """Return what is recommended: the leader, if it is better than every reference; else the best of these.

    Each reference is judged for itself. The leader is confirmed where every interval excludes 1 and nothing speaks
    against any of these leads. Otherwise it is still recommended until it is confirmed, if each lead either excludes 1
    or is large, by every figure; so a busy machine does not turn a clear gain into the default. Where a reference may
    be as good, that is recommended: a setting that is not known to gain is not worth its trouble.

    Args:
        lead: The best row of the confirmation against each other row.
        able: Ids of the rows that may be recommended.
        references: What the user has without tuning, by the id of its row.
        evidence: What else is known of the leader against each other row, by its id.
        within: Half-width of the band around 1 that counts as the same.
    """
    if lead.leader is None:
        return _without_leader(able, references)
    known = {row: evidence.get(row, PairEvidence()) for row in lead.rivals}
    settings = {row: interval for row, interval in lead.rivals.items() if row not in references}
    if lead.leader in references:  # confirmed where no setting can be better by more than counts
        return _against_settings("reference", lead.leader, settings, known, -math.log1p(within))
    behind = {row: interval for row, interval in lead.rivals.items() if row in references}
    if not behind:
        return _against_settings("unopposed", lead.leader, settings, known, -math.inf)
    reservations = tuple(_reservations(behind, known))
    if not reservations:
        return TuneDecision("better", lead.leader, lead.leader, is_confirmed=True)
    nearest = min(behind, key=lambda row: behind[row].value)
    if _is_same(behind[nearest], known[nearest], within):
        others = tuple(reservation for reservation in reservations if reservation.row != nearest)
        return TuneDecision("same", nearest, lead.leader, is_confirmed=not others, reservations=others)
    conclusion = conclusion_of(reservations)
    is_ahead = all(_is_ahead(interval, known[row], within) for row, interval in behind.items())
    return TuneDecision(conclusion, lead.leader if is_ahead else nearest, lead.leader, reservations=reservations)


def _reservations(behind: Mapping[str, Interval], evidence: Mapping[str, PairEvidence]) -> Iterator[Reservation]:
    for row, interval in behind.items():
        doubt = evidence[row].doubt
        if interval.confidence is None:
            yield Reservation("few-launches", row)
        elif interval.low <= 0:
            yield Reservation("interval-includes-1", row)
        if doubt is not None:
            yield Reservation(doubt, row)


def conclusion_of(reservations: Sequence[Reservation]) -> Conclusion:
    """Return what a lead with reservations against it is called."""
    reasons = {reservation.reason for reservation in reservations}
    if reasons & {"interval-includes-1", "rates-overlap", "rates-close"}:
        return "undecided"
    return "preview" if reasons == {"few-launches"} else "doubtful"


def _is_ahead(interval: Interval, evidence: PairEvidence, within: float) -> bool:
    """Whether a lead is, by every figure, surely or by far beyond what counts as the same.

    Where other programs were busier beside one of the two, no figure says so.
    """
    if evidence.doubt == "uneven-load":
        return False
    figures = (interval, *evidence.other_figures)
    if evidence.doubt is None:
        is_sure = interval.confidence is not None and interval.low > 0
        return is_sure or all(figure.value > math.log1p(_FAR) for figure in figures)
    is_sure = (
        interval.confidence is not None
        and interval.low > math.log1p(within)
        and all(figure.low > 0 for figure in figures)
    )
    return is_sure or all(figure.value > math.log1p(_FAR_IN_DOUBT) for figure in figures)


def _is_same(interval: Interval, evidence: PairEvidence, within: float) -> bool:
    is_known = interval.confidence is not None and evidence.doubt is None
    return is_known and within_band(interval.low, interval.high, within)


def _against_settings(
    conclusion: Conclusion,
    leader: str,
    settings: Mapping[str, Interval],
    evidence: Mapping[str, PairEvidence],
    edge: float,
) -> TuneDecision:
    """Return a leader without a reference to beat; confirmed where no interval of its lead reaches below an edge."""
    few = (row for row, interval in settings.items() if interval.confidence is None)
    wide = (row for row, interval in settings.items() if interval.confidence is not None and interval.low < edge)
    reservations = (
        *(Reservation("few-launches", row) for row in few),
        *(Reservation("interval-includes-1", row) for row in wide),
        *_doubts(settings, evidence),
    )
    return TuneDecision(conclusion, leader, leader, is_confirmed=not reservations, reservations=reservations)


def _doubts(rows: Iterable[str], evidence: Mapping[str, PairEvidence]) -> Iterator[Reservation]:
    for row in rows:
        doubt = evidence[row].doubt
        if doubt is not None:
            yield Reservation(doubt, row)


def _without_leader(able: Sequence[str], references: Mapping[str, ReferenceKind]) -> TuneDecision:
    if not able:
        return TuneDecision("nothing", None, None)
    row = next((row for row in able if row in references), able[0])
    return TuneDecision("reference" if row in references else "unopposed", row, row, is_confirmed=True)


def pareto_front(points: Iterable[FrontPoint], within: float) -> tuple[FrontPoint, ...]:
    """Return the points of which none has both a higher latency and no more frames per second than another.

    More frames per second count only if they are more than the share ``within``.
    """
    front: list[FrontPoint] = []
    for point in sorted(points, key=lambda each: (each.latency_ms, -each.fps)):
        if not front or point.fps > (1 + within) * front[-1].fps:
            front.append(point)
    return tuple(front)


def pair_evidence(state: TableState, lead: LeadEstimate) -> dict[str, PairEvidence]:
    """Return what is known of the leader against each row that it can be compared with, by the id of that row."""
    leader = lead.leader
    if leader is None:
        return {}
    return {
        row: PairEvidence(_doubt(state, leader, row), tuple(_other_figures(state, leader, row))) for row in lead.rivals
    }


def _doubt(state: TableState, leader: str, rival: str) -> NoWinner | None:
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
    state: TableState, lead: LeadEstimate, reservations: Sequence[Reservation], before_s: float
) -> float | None:
    """Return the budget that is expected to confirm or refute a recommendation, in seconds, in whole minutes.

    ``None`` where nothing needs to be decided, where so many launches would be needed that nobody would wait for
    them, and where more launches alone do not help: on a busy machine, for example. ``before_s`` is spent before the
    confirmation.
    """
    reasons = {reservation.reason for reservation in reservations}
    if not state.records or not reasons or reasons - set(_TIME_DECIDES):
        return None
    needed = [_launches(state, lead.rivals[each.row]) for each in reservations]
    counts = [count for count in needed if count is not None]
    if len(counts) < len(needed):
        return None
    launch_s = state.seconds / len(state.records)
    return whole_minutes(before_s + _MARGIN * max(counts) * launch_s)


def _launches(state: TableState, interval: Interval) -> int | None:
    """Return how many launches are expected to tell a lead from none, or to show that it does not matter."""
    if interval.confidence is None:
        return math.ceil(launches_planned(len(state.eligibility.candidates), state.timing))
    return launches_to_reach(interval, max(abs(interval.value), math.log1p(state.timing.within)), state.timing)


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
    """

    decision: TuneDecision
    settings: Mapping[str, TunedSetting]
    alternatives: tuple[Alternative, ...]
    deciding_budget_s: float | None = None
    notes: tuple[TuningNote, ...] = ()

    @classmethod
    def of(cls, finalists: Finalists, stored: StoredRun, before_s: float) -> Confirmed:
        """Return what follows from a stored confirmation; ``before_s`` is the time before it, if there is enough."""
        group = finalists.planned.group
        table = stored.document.groups[0]
        records = tuple(read_launches(stored.folder, stored.document))
        state, lead = _lead(group, table, stored, records)
        able = [row for row in state.eligibility.candidates if row not in state.eligibility.too_slow]
        evidence = pair_evidence(state, lead)
        decision = decide(lead, able, finalists.references, evidence, state.timing.within)
        names = cell_names(group)
        settings = {cell.id: setting_of(cell, names[cell.id]) for cell in group.cells}
        others = (row for row in table.cells if row.id != decision.leader)
        return cls(
            decision,
            settings,
            tuple(_alternative(row, settings[row.id], lead, finalists.references.get(row.id)) for row in others),
            deciding_budget_s(state, lead, decision.reservations, before_s),
            confirmation_notes(table, decision.reservations),
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


def _lead(
    group: Group, table: GroupResult, stored: StoredRun, records: Sequence[LaunchRecord]
) -> tuple[TableState, LeadEstimate]:
    """Return the state of the confirmation, and the best row that may be chosen against each other."""
    plan = stored.document.plan
    timing = planned_timing(plan)
    launches = observe(group, records, timing)
    admission = stored_admission(table, records, allow_mixed=planned_mixing(plan))
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    rows = {row.id: row for row in table.cells}
    state = TableState(
        group,
        records,
        launches,
        observe_otherwise(group, records, launches, timing),
        eligibility,
        rows,
        timing,
        table.stopped_by,
        table.seconds,
        table.uneven_load,
    )
    return state, find_winner(launches, eligibility.candidates, timing, eligibility.link)


def _alternative(row: CellResult, setting: TunedSetting, lead: LeadEstimate, kind: ReferenceKind | None) -> Alternative:
    behind = lead.rivals.get(row.id)
    if behind is None:
        return Alternative(
            setting,
            kind,
            failure=None if row.failure is None else row.failure.message,
            is_too_slow=is_too_slow(row),
        )
    gain = Gain(math.exp(behind.value), is_preview=behind.confidence is None, **behind.ends(math.exp))
    return Alternative(setting, kind, gain)
