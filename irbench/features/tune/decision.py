"""Which setting is recommended after the confirmation, and which measured settings are worth a look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.core.result import NoWinner
from irbench.features.tune.report import Conclusion, FrontPoint, ReferenceKind, Reservation
from irbench.stats.compare import within_band
from irbench.stats.intervals import Interval
from irbench.stats.winner import LeadEstimate

_FAR, _FAR_IN_DOUBT = 0.05, 0.1
"""A lead beyond this share is recommended until it is confirmed even if its interval includes 1; the second where
something speaks against it."""


@dataclass(frozen=True)
class PairEvidence:
    """What is known of the leader's lead over one reference besides its interval.

    Attributes:
        doubt: What outside the interval speaks against this lead; ``None`` where nothing does. That of another pair
            says nothing of it.
        other_figures: ln of the same lead by figures that a disturbance changes differently: over all blocks, and by
            throughput.
    """

    doubt: NoWinner | None = None
    other_figures: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What is recommended.

    Attributes:
        conclusion: Why.
        row: The id of its row; ``None`` where nothing could be measured.
        leader: The id of the row that was the best.
        is_confirmed: Whether more launches are not expected to change it.
        reservations: What keeps it from being confirmed.
    """

    conclusion: Conclusion
    row: str | None
    leader: str | None
    is_confirmed: bool = False
    reservations: tuple[Reservation, ...] = ()


def decide(
    found: LeadEstimate,
    able: Sequence[str],
    references: Mapping[str, ReferenceKind],
    evidence: Mapping[str, PairEvidence],
    within: float,
) -> Decision:
    """Return what is recommended: the leader, if it is better than every reference; else the best of these.

    Each reference is judged for itself. The leader is confirmed where every interval excludes 1 and nothing speaks
    against any of these leads. Otherwise it is still recommended until it is confirmed, if each lead either excludes 1
    or is large, by every figure; so a busy machine does not turn a clear gain into the default. Where a reference may
    be as good, that is recommended: a setting that is not known to gain is not worth its trouble.

    Args:
        found: The best row of the confirmation against each other row.
        able: Ids of the rows that may be recommended.
        references: What the user has without tuning, by the id of its row.
        evidence: What else is known of the leader against each other row, by its id; nothing of one that is not there.
        within: Half-width of the band around 1 that is called the same.
    """
    if found.leader is None:
        return _without_leader(able, references)
    known = {row: evidence.get(row, PairEvidence()) for row in found.rivals}
    settings = {row: interval for row, interval in found.rivals.items() if row not in references}
    if found.leader in references:  # confirmed where no setting can be better by more than counts
        return _against_settings("reference", found.leader, settings, known, -math.log1p(within))
    behind = {row: interval for row, interval in found.rivals.items() if row in references}
    if not behind:
        return _against_settings("unopposed", found.leader, settings, known, -math.inf)
    reservations = tuple(_reservations(behind, known))
    if not reservations:
        return Decision("better", found.leader, found.leader, is_confirmed=True)
    nearest = min(behind, key=lambda row: behind[row].value)
    if _is_same(behind[nearest], known[nearest], within):
        others = tuple(reservation for reservation in reservations if reservation.row != nearest)
        return Decision("same", nearest, found.leader, is_confirmed=not others, reservations=others)
    conclusion = _conclusion(reservations)
    is_ahead = all(_is_ahead(interval, known[row], within) for row, interval in behind.items())
    return Decision(conclusion, found.leader if is_ahead else nearest, found.leader, reservations=reservations)


def _reservations(behind: Mapping[str, Interval], evidence: Mapping[str, PairEvidence]) -> Iterator[Reservation]:
    """Yield what keeps the lead over each reference from being confirmed."""
    for row, interval in behind.items():
        doubt = evidence[row].doubt
        if interval.confidence is None:
            yield Reservation("few-launches", row)
        elif interval.low <= 0:
            yield Reservation("interval-includes-1", row)
        if doubt is not None:
            yield Reservation(doubt, row)


def _conclusion(reservations: Sequence[Reservation]) -> Conclusion:
    reasons = {reservation.reason for reservation in reservations}
    if "interval-includes-1" in reasons:
        return "undecided"
    return "preview" if reasons == {"few-launches"} else "doubtful"


def _is_ahead(interval: Interval, evidence: PairEvidence, within: float) -> bool:
    """Whether a lead is beyond what counts as the same, by every figure: surely so, or by far.

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
) -> Decision:
    """Return a leader without a reference to beat; confirmed where no interval of its lead reaches below an edge."""
    few = (row for row, interval in settings.items() if interval.confidence is None)
    wide = (row for row, interval in settings.items() if interval.confidence is not None and interval.low < edge)
    reservations = (
        *(Reservation("few-launches", row) for row in few),
        *(Reservation("interval-includes-1", row) for row in wide),
        *_doubts(settings, evidence),
    )
    return Decision(conclusion, leader, leader, is_confirmed=not reservations, reservations=reservations)


def _doubts(rows: Iterable[str], evidence: Mapping[str, PairEvidence]) -> Iterator[Reservation]:
    for row in rows:
        doubt = evidence[row].doubt
        if doubt is not None:
            yield Reservation(doubt, row)


def _without_leader(able: Sequence[str], references: Mapping[str, ReferenceKind]) -> Decision:
    """Return what is recommended where no two rows can be compared."""
    if not able:
        return Decision("nothing", None, None)
    row = next((row for row in able if row in references), able[0])
    return Decision("reference" if row in references else "unopposed", row, row, is_confirmed=True)


def pareto_front(points: Iterable[FrontPoint], within: float) -> tuple[FrontPoint, ...]:
    """Return the points of which none has both a higher latency and no more frames per second than another.

    Args:
        points: What was measured.
        within: More frames per second count only if they are more than this share.
    """
    front: list[FrontPoint] = []
    for point in sorted(points, key=lambda each: (each.latency_ms, -each.fps)):
        if not front or point.fps > (1 + within) * front[-1].fps:
            front.append(point)
    return tuple(front)
