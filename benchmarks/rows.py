"""What a benchmark found, as values: repeats of two things that took turns, and the goal that they are held to."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from irbench.render import Column, Row, TextTable

__all__ = ["Finding", "Goal", "as_plain", "as_table"]

Judged = Literal["own", "ratio", "difference"]

_MEETS: Mapping[str, Callable[[float, float], bool]] = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}


@dataclass(frozen=True)
class Goal:
    """What the median of a finding should be.

    Attributes:
        judged: irbench's own value, its ratio to the other, or its difference from it.
        relation: How it should stand to ``limit``.
        limit: In the finding's unit; a ratio has none.
    """

    judged: Judged
    relation: Literal["<=", "<", ">="]
    limit: float


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        subject: The benchmark it belongs to.
        what: What was measured.
        unit: Of the values.
        own: irbench's value in each repeat; empty where there is none, which ``remark`` then explains.
        other: What it is compared with, in the same repeats; empty where there is nothing to compare.
        against: What the other is.
        goal: What is wanted; ``None`` where the figure is for information.
        remark: What a reader needs besides, or why there is no figure.
        failed: Whether it should have been measured and could not be.
    """

    subject: str
    what: str
    unit: str = ""
    own: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    against: str = ""
    goal: Goal | None = None
    remark: str = ""
    failed: bool = False

    def values(self, judged: Judged) -> tuple[float, ...]:
        """Return irbench's values, or their ratios to or differences from the other's, repeat by repeat."""
        if judged == "own":
            return self.own
        pairs = zip(self.own, self.other, strict=True) if self.other else ()
        return tuple(own / other if judged == "ratio" else own - other for own, other in pairs)

    @property
    def met(self) -> bool | None:
        """Whether the median meets the goal; ``None`` without a goal, or with fewer than two repeats."""
        if self.goal is None or len(self.own) < 2:
            return None
        return _MEETS[self.goal.relation](statistics.median(self.values(self.goal.judged)), self.goal.limit)


def as_plain(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the findings with their repeats, medians and verdicts, ready for JSON; what is not known is null."""
    return [{**asdict(one), "ratio": one.values("ratio"), "medians": _medians(one), "met": one.met} for one in findings]


def as_table(findings: Sequence[Finding]) -> TextTable:
    """Return the findings as a table: medians, with the range of the repeats behind what is judged."""
    columns = (
        Column("subject", words=True),
        Column("what", words=True, folds=True),
        Column("irbench"),
        Column("other"),
        Column("ratio [range]"),
        Column("goal", words=True),
        Column("met", words=True),
        Column("remark", words=True, folds=True),
    )
    return TextTable(columns, tuple(_row(one) for one in findings))


def _row(one: Finding) -> Row:
    if not one.own:
        return Row((one.subject, one.what), sentence=f"{'failed: ' if one.failed else ''}{one.remark}")
    compared = f"against {one.against}" if one.against else ""
    remark = " · ".join(text for text in (compared, one.remark, _repeats(one)) if text)
    return Row(
        (
            one.subject,
            one.what,
            _amount(one.own, one),
            _amount(one.other, one),
            _ratio(one),
            _goal(one),
            _met(one),
            remark,
        )
    )


def _repeats(one: Finding) -> str:
    return f"{len(one.own)} repeat{'s' if len(one.own) > 1 else ''}"


def _amount(values: Sequence[float], one: Finding) -> str:
    return f"{_number(statistics.median(values))} {one.unit}".rstrip() if values else "-"


def _ratio(one: Finding) -> str:
    shown = one.values("ratio") or one.own
    span = f"[{_number(min(shown))}, {_number(max(shown))}]"
    return f"{_number(statistics.median(shown))} {span}" if one.other else span


def _goal(one: Finding) -> str:
    if one.goal is None:
        return "-"
    unit = "" if one.goal.judged == "ratio" else f" {one.unit}"
    more = " more" if one.goal.judged == "difference" else ""
    return f"{one.goal.relation} {one.goal.limit:g}{unit}{more}"


def _met(one: Finding) -> str:
    return {None: "-", True: "yes", False: "MISSED"}[one.met]


def _medians(one: Finding) -> dict[str, float | None]:
    judged: tuple[Judged, ...] = ("own", "ratio", "difference")
    found = {name: one.values(name) for name in judged}
    return {name: statistics.median(values) if values else None for name, values in found.items()}


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
