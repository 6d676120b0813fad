"""Which setting is recommended after the confirmation, and which measured settings are worth a look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irbench.stats.winner import LeadEstimate
from irbench.tuning.report import Conclusion, FrontPoint, ReferenceKind

__all__ = ["Decision", "decide", "pareto_front"]


@dataclass(frozen=True)
class Decision:
    """What is recommended.

    Attributes:
        conclusion: Why.
        row: The id of its row; ``None`` where nothing could be measured.
        leader: The id of the row that was the best.
    """

    conclusion: Conclusion
    row: str | None
    leader: str | None


def decide(
    found: LeadEstimate, able: Sequence[str], references: Mapping[str, ReferenceKind], *, is_doubtful: bool = False
) -> Decision:
    """Return what is recommended: the leader, if it is surely better than every reference.

    With too few launches for intervals it is recommended as a preview where it was better in every launch. Otherwise
    the best of the references is: a setting that is not known to gain is not worth its trouble.

    Args:
        found: The best row of the confirmation against each other row.
        able: Ids of the rows that may be recommended.
        references: What the user has without tuning, by the id of its row.
        is_doubtful: Whether something outside the interval speaks against the leader: a busy machine, for example.
    """
    if found.leader is None:
        return _without_leader(able, references)
    if found.leader in references:
        return Decision("reference", found.leader, found.leader)
    behind = {row: interval for row, interval in found.rivals.items() if row in references}
    if not behind:
        return Decision("unopposed", found.leader, found.leader)
    nearest = min(behind, key=lambda row: behind[row].value)
    if is_doubtful:
        return Decision("doubtful", nearest, found.leader)
    if any(interval.low <= 0 for interval in behind.values()):
        return Decision("undecided", nearest, found.leader)
    is_sure = all(interval.confidence is not None for interval in behind.values())
    return Decision("better" if is_sure else "preview", found.leader, found.leader)


def _without_leader(able: Sequence[str], references: Mapping[str, ReferenceKind]) -> Decision:
    """Return what is recommended where no two rows can be compared."""
    if not able:
        return Decision("nothing", None, None)
    row = next((row for row in able if row in references), able[0])
    return Decision("reference" if row in references else "unopposed", row, row)


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
