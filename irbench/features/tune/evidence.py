"""What a confirmation holds for and against the leader's lead over each reference, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from irbench.core.result import GroupResult, NoWinner, StoppedBy
from irbench.features.tune.decision import PairEvidence
from irbench.features.tune.report import BusyConfirmation, FewSettingsTried, Reservation, TuningNote
from irbench.features.tune.schedule import ENOUGH_TRIED
from irbench.stats.compare import launch_ratios
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.notices.table_state import TableState
from irbench.stats.observed import is_as_loaded
from irbench.stats.orders import pair_order_doubt
from irbench.stats.stopping_rule import launches_planned, launches_to_reach
from irbench.stats.winner import LeadEstimate, doubt, throughput_ratio

_ROUND_S = 60.0
_MARGIN = 1.2
"""Launches scatter, and so does what they take: a budget is named that has so much to spare."""
_FEW_TRIED = 20
"""With fewer a clearly better setting was often missed in made and replayed searches."""
_TIME_DECIDES = ("few-launches", "interval-includes-1")


def pair_evidence(state: TableState, found: LeadEstimate) -> dict[str, PairEvidence]:
    """Return what is known of the leader against each row that it can be compared with, by the id of that row.

    Args:
        state: The confirmation.
        found: Its best row against each other row.
    """
    leader = found.leader
    if leader is None:
        return {}
    return {
        row: PairEvidence(_doubt(state, leader, row), tuple(_other_figures(state, leader, row))) for row in found.rivals
    }


def _doubt(state: TableState, leader: str, rival: str) -> NoWinner | None:
    """Return what speaks against the lead of a pair: also that it is of a machine as loaded as it was."""
    busy: NoWinner | None = "busy" if is_as_loaded(state.launches) else None
    return doubt(state, LeadEstimate(leader, rival)) or busy or pair_order_doubt(state, leader, rival)


def _other_figures(state: TableState, leader: str, reference: str) -> Iterator[Interval]:
    """Yield ln of the lead over all blocks, and where frames per second are what is wanted, by throughput."""
    everything = launch_ratios(state.launches, reference, leader, all_blocks=True)
    if everything:
        yield interval_at(everything, looks_of(state.timing), state.timing.confidence)
    if state.group.objective != "fps":
        return  # what is best in something else need not be so in throughput
    throughput = throughput_ratio(state, leader, reference)
    if throughput is not None:
        yield throughput


def deciding_budget_s(
    state: TableState, found: LeadEstimate, reservations: Sequence[Reservation], before_s: float
) -> float | None:
    """Return the budget that is expected to confirm or refute a recommendation, in seconds, in whole minutes.

    Args:
        state: The confirmation.
        found: Its best row against each other row.
        reservations: What keeps it from being confirmed.
        before_s: What is spent before the confirmation, with as much time as that.

    Returns:
        ``None`` where nothing needs to be decided, where so many launches would be needed that nobody would wait for
        them, and where something speaks against the lead that more launches alone do not remove: a busy machine.
    """
    reasons = {reservation.reason for reservation in reservations}
    if not state.records or not reasons or reasons - set(_TIME_DECIDES):
        return None
    needed = [_launches(state, found.rivals[each.row]) for each in reservations]
    counts = [count for count in needed if count is not None]
    if len(counts) < len(needed):
        return None
    launch_s = state.seconds / len(state.records)
    return _whole_minutes(before_s + _MARGIN * max(counts) * launch_s)


def _launches(state: TableState, interval: Interval) -> int | None:
    """Return how many launches are expected to tell a lead from none, or to show that it is none that counts."""
    if interval.confidence is None:
        return math.ceil(launches_planned(len(state.eligibility.candidates), state.timing))
    return launches_to_reach(interval, max(abs(interval.value), math.log1p(state.timing.within)), state.timing)


def whole_search_s(tried: int, settings: int, stopped_by: StoppedBy, search_s: float) -> float:
    """Return how long a search takes, in seconds, that the budget does not end: a larger one is its own first.

    Args:
        tried: How many settings were launched.
        settings: How many there are.
        stopped_by: Why it ended.
        search_s: What it took.
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
    one = (_with_budget(note, largest) if isinstance(note, FewSettingsTried) else note for note in notes)
    return largest, tuple(one)


def _with_budget(note: FewSettingsTried, budget_s: float) -> FewSettingsTried:
    return FewSettingsTried(tried=note.tried, settings=note.settings, enough=note.enough, budget_s=budget_s)


def search_notes(
    tried: int, settings: int, stopped_by: StoppedBy, search_s: float, rest_s: float
) -> tuple[TuningNote, ...]:
    """Return what must be known of a search besides what it found.

    Args:
        tried: How many settings were launched.
        settings: How many there are.
        stopped_by: Why it ended.
        search_s: What it took.
        rest_s: What was spent besides, above all on the confirmation.
    """
    enough = min(settings, ENOUGH_TRIED)
    if stopped_by != "budget" or not 0 < tried < min(settings, _FEW_TRIED):
        return ()
    budget_s = _whole_minutes(rest_s + whole_search_s(tried, settings, stopped_by, search_s))
    return (FewSettingsTried(tried=tried, settings=settings, enough=enough, budget_s=budget_s),)


def confirmation_notes(table: GroupResult, reservations: Iterable[Reservation]) -> tuple[TuningNote, ...]:
    """Return that other programs disturbed most of the confirmation, unless it stands among the reservations."""
    disturbed = table.blocks_disturbed
    told = any(reservation.reason == "busy" for reservation in reservations)
    if disturbed is None or not table.is_mostly_disturbed or told:
        return ()
    return (BusyConfirmation(disturbed=disturbed, blocks=table.blocks_measured),)


def _whole_minutes(seconds: float) -> float:
    return _ROUND_S * math.ceil(seconds / _ROUND_S)
