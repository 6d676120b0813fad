"""Whether a second measurement bears out the claims of a receipt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from irbench.across_runs import repetition_obstacles as obstacles
from irbench.across_runs.measured_cells import CellKey, key_of, without_model
from irbench.across_runs.repetition_obstacles import RepetitionObstacle
from irbench.api.display import DisplayedReport
from irbench.core.plain_text import plain
from irbench.core.result import Condition, GroupResult, RunDocument
from irbench.errors import ExitCode
from irbench.features.receipt.options import REPLAY
from irbench.features.receipt.report import (
    Claim,
    ClaimKind,
    Receipt,
    Reservations,
    condition_of,
    reservations_of,
)

if TYPE_CHECKING:
    from irbench.render.views import PlainView

ReplayOutcome = Literal["confirmed", "refuted", "undecided", "not-comparable"]
ClaimReason = Literal[
    "same", "other-verdict", "other-size", "other-condition", "other-load", "not-decided", "not-measured"
]
"""Why a claim has its outcome. ``same``: the verdict is the same and the intervals agree; ``other-verdict`` and
``other-size``: the intervals do not agree; ``other-condition``: nor do they, and only one of both measurements was on a
busy machine; ``other-load``: nor do they, and both were, beside other programs that need not be the same;
``not-decided``: they do, but the second verdict is another, or none; ``not-measured``: a row has no figures this time.
"""

_OUTCOMES: Mapping[ClaimReason, ReplayOutcome] = {
    "same": "confirmed",
    "other-verdict": "refuted",
    "other-size": "refuted",
    "other-condition": "undecided",
    "other-load": "undecided",
    "not-decided": "undecided",
    "not-measured": "not-comparable",
}


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with what the second measurement said.

    Attributes:
        again: The same as it was measured now, with the ends of its interval where it has one; ``None`` where it was
            not measured.
        verdict: What is stated now; empty where nothing was measured.
        condition: What that holds under; ``None`` where nothing restricts it.
        reservations: What the second run says against it; ``None`` where nothing was measured.
        detectable: Below and above which values the second run, as closely as it knows its own, would have refuted the
            claim; ``None`` where it has no interval.
    """

    claim: Claim
    outcome: ReplayOutcome
    reason: ClaimReason
    again: tuple[float, float | None, float | None] | None = None
    verdict: str = ""
    condition: Condition | None = None
    reservations: Reservations | None = None
    detectable: tuple[float, float] | None = None


@dataclass(frozen=True)
class ReplayResult:
    """What a replay came to.

    Attributes:
        run: Id of the run that was made for it; empty where nothing was measured.
    """

    receipt: Receipt
    outcome: ReplayOutcome
    claims: tuple[CheckedClaim, ...] = ()
    run: str = ""
    obstacle: RepetitionObstacle | None = None


@dataclass(frozen=True)
class _Statement:
    """A ratio or a latency as a table has it: value, ends of its interval where it has one, verdict, reservations."""

    value: float
    low: float | None
    high: float | None
    verdict: str
    condition: Condition | None
    reservations: Reservations


def checked_claims(receipt: Receipt, document: RunDocument, within: float) -> tuple[CheckedClaim, ...]:
    """Return every claim of a receipt, compared with a run of the same plan."""
    nameless = len({claim.row.model for claim in receipt.claims}) == 1
    statements = dict(_statements(document, nameless=nameless))
    return tuple(
        _checked(claim, statements.get(_address(claim, nameless=nameless)), within) for claim in receipt.claims
    )


def outcome_of_claims(claims: Iterable[CheckedClaim]) -> ReplayOutcome:
    """Return what claims come to together: one that is refuted refutes all, and all must be confirmed."""
    outcomes = {claim.outcome for claim in claims}
    if "refuted" in outcomes:
        return "refuted"
    if outcomes == {"confirmed"}:
        return "confirmed"
    return "not-comparable" if outcomes <= {"not-comparable"} else "undecided"


_Address = tuple[ClaimKind, CellKey, CellKey | None]


def _address(claim: Claim, *, nameless: bool) -> _Address:
    other = None if claim.kind != "speedup" or claim.other is None else _key(claim.other, nameless=nameless)
    return claim.kind, _key(claim.row, nameless=nameless), other


def _key(key: CellKey, *, nameless: bool) -> CellKey:
    return without_model(key) if nameless else replace(key)


def _statements(document: RunDocument, *, nameless: bool) -> Iterator[tuple[_Address, _Statement]]:
    for table in document.groups:
        keys = {row.id: _key(key_of(table, row), nameless=nameless) for row in table.cells}
        condition = condition_of(table)
        yield from _leads(table, keys)
        for row in table.cells:
            speedup, spans = row.speedup, row.p50_over_launches
            if speedup is not None and table.baseline in keys:
                against = reservations_of(table, (row.id, str(table.baseline)), speedup.launches)
                statement = _Statement(speedup.value, speedup.low, speedup.high, speedup.verdict, condition, against)
                yield ("speedup", keys[row.id], keys[str(table.baseline)]), statement
            if spans is not None and row.state == "ok":
                against = reservations_of(table, (row.id,), row.launches_measured)
                verdict = "preview" if table.preview else "measured"
                statement = _Statement(spans.value, spans.low, spans.high, verdict, condition, against)
                yield ("latency", keys[row.id], None), statement


def _leads(table: GroupResult, keys: Mapping[str, CellKey]) -> Iterator[tuple[_Address, _Statement]]:
    """Yield who leads; every other row is slower, by as much as the leader's rival at least."""
    lead = table.lead
    if lead is None:
        return
    condition, against = condition_of(table), reservations_of(table, keys, lead.launches)
    verdict, of_others = ("faster", "slower") if lead.reason is None else (lead.reason, lead.reason)
    yield ("winner", keys[lead.cell], None), _Statement(lead.value, lead.low, lead.high, verdict, condition, against)
    low, high = (None if end is None else 1 / end for end in (lead.high, lead.low))
    turned = _Statement(1 / lead.value, low, high, of_others, condition, against)
    others = (row.id for row in table.cells if row.id != lead.cell and row.state == "ok")
    for other in others:
        yield ("winner", keys[other], None), turned


def _checked(claim: Claim, again: _Statement | None, within: float) -> CheckedClaim:
    reason = _reason(claim, again, within)
    if again is None:
        return CheckedClaim(claim, _OUTCOMES[reason], reason)
    ends = again.value, again.low, again.high
    return CheckedClaim(
        claim,
        _OUTCOMES[reason],
        reason,
        ends,
        again.verdict,
        again.condition,
        again.reservations,
        detectable=_detectable(claim, again, within),
    )


def _detectable(claim: Claim, again: _Statement, within: float) -> tuple[float, float] | None:
    """Return between which values a second measurement with such an interval does not refute a claim.

    It does where the two intervals lie apart by more than ``within``; its own is taken to reach as far from another
    value, as a ratio, as it does from the one that was measured.
    """
    if again.verdict == "preview" or again.low is None or again.high is None:
        return None
    below, above = again.high / again.value, again.value / again.low
    return claim.low / (1 + within) / below, claim.high * (1 + within) * above


def _reason(claim: Claim, again: _Statement | None, within: float) -> ClaimReason:
    if again is None:
        return "not-measured"
    if again.verdict == "preview" or again.low is None or again.high is None:
        return "not-decided"
    gap = max(math.log(claim.low), math.log(again.low)) - min(math.log(claim.high), math.log(again.high))
    if gap > math.log1p(within):
        if claim.condition is not None or again.condition is not None:
            return "other-load" if claim.condition == again.condition else "other-condition"
        return "other-size" if again.verdict == claim.verdict else "other-verdict"
    return "same" if again.verdict == claim.verdict else "not-decided"


_EXITS: dict[ReplayOutcome, ExitCode] = {
    "confirmed": ExitCode.OK,
    "refuted": ExitCode.DIFFERENT,
    "undecided": ExitCode.UNDECIDED,
    "not-comparable": ExitCode.USAGE,
}


class Replay(DisplayedReport[ReplayResult]):
    """What became of the claims of a receipt.

    Attributes:
        report: Everything that was found.
    """

    _command = REPLAY

    @property
    def result(self) -> ReplayResult:
        """Everything that was found."""
        return self.report

    @property
    def outcome(self) -> ReplayOutcome:
        """``confirmed``, ``refuted``, ``undecided`` or ``not-comparable``, of all claims together."""
        return self.result.outcome

    @property
    def claims(self) -> tuple[CheckedClaim, ...]:
        """Each claim with its outcome and the reason."""
        return self.result.claims

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench replay`` exits with."""
        interrupted = isinstance(self.result.obstacle, obstacles.RepetitionInterrupted)
        return ExitCode.INTERRUPTED if interrupted else _EXITS[self.outcome]

    def __repr__(self) -> str:
        """Return the run and what became of its claims."""
        return plain(f"<Replay of {self.result.receipt.run_id}: {self.outcome}>")

    def __rich__(self) -> PlainView:
        """Return the table as ``irbench replay`` prints it; called by rich."""
        from irbench.features.receipt.view import replay_view

        return replay_view(self.result)
