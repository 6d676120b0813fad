"""What a benchmark found, as values: repeats of two things that took turns, and the goal that they are held to."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from irbench.core.quantities import plural
from irbench.render.table import Row, TableColumn, TextTable
from irbench.stats.intervals import Interval, Looks, interval_at

Judged = Literal["own", "ratio", "difference"]
Met = Literal["yes", "missed", "undecided"]

_MEETS: Mapping[str, Callable[[float, float], bool]] = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Goal:
    """What the median of a finding should be.

    Attributes:
        judged: irbench's own value, its ratio to the other, or its difference from it.
        relation: How it should stand to ``limit``.
        limit: In the finding's unit; a ratio has none.
        always: Whether every repeat should stand so, not the median alone.
    """

    judged: Judged
    relation: Literal["<=", "<", ">="]
    limit: float
    always: bool = False

    def met(self, found: Finding) -> Met:
        """Return whether a finding with values meets it."""
        values = found.values(self.judged)
        held = values if self.always else (statistics.median(values),)
        return "yes" if all(_MEETS[self.relation](item, self.limit) for item in held) else "missed"

    def words(self, unit: str) -> str:
        """Return what is wanted of a finding in ``unit``."""
        of = "" if self.judged == "ratio" or not unit else f" {unit}"
        more = " more" if self.judged == "difference" else ""
        return f"{self.relation} {self.limit:g}{of}{more}{', always' if self.always else ''}"


@dataclass(frozen=True)
class Parity:
    """That irbench's figure, of which more is better, is the same as the other's, or better: what must be shown.

    Attributes:
        within: Half-width of the band around 1 that is called the same, symmetric in the logarithm.
    """

    within: float = 0.02

    def met(self, found: Finding) -> Met:
        """Return whether the interval of a finding's ratio lies within the band or above it.

        It is missed where the whole interval lies below the band, and undecided where it reaches into it from there.
        """
        edge, interval = math.log1p(self.within), found.log_ratio
        if interval.confidence is not None and interval.low >= -edge:
            return "yes"
        return "missed" if interval.confidence is not None and interval.high < -edge else "undecided"

    def words(self, _unit: str) -> str:
        """Return what is wanted."""
        return f"same within {self.within * 100:g} %, or more"


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        subject: The benchmark it belongs to.
        what: What was measured.
        unit: Of the values.
        own: irbench's value in each repeat, infinite where what was waited for never came; empty where there is none,
            which ``remark`` then explains.
        other: What it is compared with, in the same repeats; empty where there is nothing to compare.
        against: What the other is.
        goal: What is wanted; ``None`` where the figure is for information.
        remark: What a reader needs besides, or why there is no figure.
        failed: Whether it should have been measured and could not be.
        interval: Of the logarithm of the ratio, where one run tells it from its launches; over repeats otherwise.
    """

    subject: str
    what: str
    unit: str = ""
    own: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    against: str = ""
    goal: Goal | Parity | None = None
    remark: str = ""
    failed: bool = False
    interval: Interval | None = None

    def values(self, judged: Judged) -> tuple[float, ...]:
        """Return irbench's values, or their ratios to or differences from the other's, repeat by repeat."""
        if judged == "own":
            return self.own
        pairs = zip(self.own, self.other, strict=True) if self.other else ()
        return tuple(own / other if judged == "ratio" else own - other for own, other in pairs)

    @property
    def log_ratio(self) -> Interval:
        """The interval of the median logarithm of the ratio: the run's, or over the repeats planned and made."""
        if self.interval is not None:
            return self.interval
        logs = [math.log(item) for item in self.values("ratio")]
        return interval_at(logs, Looks(len(logs), len(logs)), _CONFIDENCE)

    @property
    def met(self) -> Met | None:
        """Whether the goal is met; ``None`` without a goal, or with fewer than two repeats."""
        if self.goal is None or (len(self.own) < 2 and self.interval is None):
            return None
        return self.goal.met(self)


def as_plain(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the findings with their repeats, medians and verdicts, ready for JSON; what is not known is null."""
    return [
        {
            **asdict(finding),
            "own": [_finite(value) for value in finding.own],
            "ratio": [_finite(value) for value in finding.values("ratio")],
            "medians": _medians(finding),
            "met": finding.met,
        }
        for finding in findings
    ]


def as_table(findings: Sequence[Finding]) -> TextTable:
    """Return the findings as a table: medians, with the range of the repeats behind what is judged.

    Where parity is judged, that is its interval instead, with its confidence.
    """
    columns = (
        TableColumn("subject", words=True),
        TableColumn("what", words=True, folds=True),
        TableColumn("irbench"),
        TableColumn("other"),
        TableColumn("ratio [range]"),
        TableColumn("goal", words=True),
        TableColumn("met", words=True),
        TableColumn("remark", words=True, folds=True),
    )
    return TextTable(columns, tuple(_row(finding) for finding in findings))


def _row(finding: Finding) -> Row:
    if not finding.own:
        return Row((finding.subject, finding.what), sentence=f"{'failed: ' if finding.failed else ''}{finding.remark}")
    compared = f"against {finding.against}" if finding.against else ""
    remark = " · ".join(text for text in (compared, finding.remark, _repeats(finding)) if text)
    return Row(
        (
            finding.subject,
            finding.what,
            _amount(finding.own, finding),
            _amount(finding.other, finding),
            _ratio(finding),
            _goal(finding),
            _met(finding),
            remark,
        )
    )


def _repeats(finding: Finding) -> str:
    if finding.interval is not None:
        return plural(finding.interval.count, "launch")
    return plural(len(finding.own), "repeat")


def _amount(values: Sequence[float], finding: Finding) -> str:
    median = statistics.median(values) if values else math.nan
    return "-" if math.isnan(median) else f"{_number(median)} {finding.unit if math.isfinite(median) else ''}".rstrip()


def _ratio(finding: Finding) -> str:
    shown = finding.values("ratio") or finding.own
    if isinstance(finding.goal, Parity) and finding.met is not None:
        interval = finding.log_ratio
        low, high = math.exp(interval.low), math.exp(interval.high)
        certain = f" at {_CONFIDENCE * 100:g} %" if interval.confidence is not None else ", a range"
        return f"{_number(math.exp(interval.value))} {_span(low, high)}{certain}"
    span = _span(min(shown), max(shown))
    return f"{_number(statistics.median(shown))} {span}" if finding.other else span


def _span(low: float, high: float) -> str:
    return f"[{_number(low)}, {_number(high)}]"


def _goal(finding: Finding) -> str:
    return "-" if finding.goal is None else finding.goal.words(finding.unit)


def _met(finding: Finding) -> str:
    return {None: "-", "yes": "yes", "missed": "MISSED", "undecided": "undecided"}[finding.met]


def _medians(finding: Finding) -> dict[str, float | None]:
    judged: tuple[Judged, ...] = ("own", "ratio", "difference")
    found = {name: finding.values(name) for name in judged}
    return {name: _finite(statistics.median(values)) if values else None for name, values in found.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float) -> str:
    if math.isinf(value):
        return "never"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
