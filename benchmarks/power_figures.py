"""When runs told graphs of known length apart: pure functions from what runs found to a table and to goals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irbench.core.quantities import plural
from irbench.render.table import Row, TableColumn, TextTable

WITHIN_S = (10, 20, 30, 60, 90)


@dataclass(frozen=True)
class Detection:
    """When one run told two graphs apart.

    Attributes:
        subject: The backend that ran both.
        ratio: How many times as fast the shorter graph truly is.
        detected_s: Wall time of the command until it knew which one is faster, in seconds; infinite where it never did.
        is_wrong: Whether it called one of two equals faster, or the longer graph, at any look.
        launches: How many it had.
    """

    subject: str
    ratio: float
    detected_s: float
    is_wrong: bool
    launches: int


def power_table(found: Sequence[Detection]) -> TextTable:
    """Return how many runs of each pair told it apart within each time, and how many of them wrongly."""
    columns = (
        TableColumn("backend", words=True),
        *(TableColumn(heading) for heading in ("faster by", "runs", *(f"{within_s} s" for within_s in WITHIN_S))),
        *(TableColumn(heading) for heading in ("wrong", "launches")),
    )
    rows = []
    for subject, ratio in dict.fromkeys((own.subject, own.ratio) for own in found):
        own = [each for each in found if (each.subject, each.ratio) == (subject, ratio)]
        times = [str(sum(each.detected_s <= within_s for each in own)) for within_s in WITHIN_S]
        launches = sorted(each.launches for each in own)[len(own) // 2]
        wrong = sum(each.is_wrong for each in own)
        rows.append(Row((subject, f"{100 * (ratio - 1):.0f} %", str(len(own)), *times, str(wrong), str(launches))))
    return TextTable(columns, tuple(rows))


def missed_power(found: Sequence[Detection]) -> Iterator[str]:
    """Yield a sentence where more than one of twenty equals, or a longer graph, was called faster."""
    equals = [each for each in found if each.ratio == 1]
    wrong, allowed = sum(each.is_wrong for each in equals), math.ceil(len(equals) / 20)
    if wrong > allowed:
        yield f"{wrong} of {len(equals)} runs report a difference between equal graphs; {allowed} may."
    others = sum(each.is_wrong for each in found if each.ratio > 1)
    if others:
        yield f"{plural(others, 'run')} of {len(found) - len(equals)} called the longer graph faster."
