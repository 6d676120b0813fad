"""The claims of a receipt, and what became of them, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.across_runs.cell_keys import CellKey, key_names
from irbench.across_runs.receipt import Claim, ClaimKind, Receipt
from irbench.across_runs.replay import CheckedClaim, ClaimReason, ReplayOutcome, ReplayResult
from irbench.render.across_runs_texts import obstacle_text
from irbench.render.figures import NOT_MEASURED, ratio, significant
from irbench.render.plain_view import PlainView
from irbench.render.table import Column, Row, TextTable

__all__ = ["CLAIM_TEXTS", "REASON_TEXTS", "REPLAY_TEXTS", "receipt_view", "replay_view"]

CLAIM_TEXTS: Mapping[ClaimKind, str] = {
    "winner": "{row} is the fastest, before {other}",
    "speedup": "{row} against {other}",
    "latency": "p50 of {row}",
}
REPLAY_TEXTS: Mapping[ReplayOutcome, str] = {
    "confirmed": "confirmed",
    "refuted": "refuted",
    "undecided": "undecided",
    "not-comparable": "not comparable",
}
REASON_TEXTS: Mapping[ClaimReason, str] = {
    "same": "same verdict, and the intervals agree",
    "other-verdict": "another verdict, and the intervals do not agree",
    "other-size": "same verdict, but the intervals do not agree",
    "not-decided": "the intervals agree, but the verdict is another or open",
    "not-measured": "not measured this time",
}
_STYLES: Mapping[ReplayOutcome, str] = {"refuted": "red", "confirmed": "green"}


def receipt_view(receipt: Receipt) -> PlainView:
    """Return what a receipt claims."""
    columns = (Column("claim", words=True, folds=True), Column("verdict", words=True), Column("value [interval]"))
    names = _names(receipt)
    rows = (Row((_claim(claim, names), claim.verdict, _claimed(claim))) for claim in receipt.claims)
    return PlainView(
        title=f"receipt of run {receipt.run_id} · {receipt.created} · machine {receipt.machine}",
        headline="",
        table=TextTable(columns, tuple(rows)),
        notes=(f"sha256 {receipt.sha256}",),
    )


def replay_view(result: ReplayResult) -> PlainView:
    """Return what became of the claims of a receipt."""
    columns = (
        Column("claim", words=True, folds=True),
        Column("claimed"),
        Column("measured again"),
        Column("outcome", words=True),
    )
    names = _names(result.receipt)
    return PlainView(
        title=f"replay of run {result.receipt.run_id} · {result.receipt.created}",
        headline=_headline(result),
        table=TextTable(columns, tuple(_row(checked, names) for checked in result.claims)),
        notes=tuple(_replay_notes(result, names)),
    )


def _replay_notes(result: ReplayResult, names: Mapping[CellKey, str]) -> Iterator[str]:
    """Yield why each claim that is not confirmed is not, and where to look further."""
    for checked in result.claims:
        if checked.outcome != "confirmed":
            claim = _claim(checked.claim, names)
            yield f"{REPLAY_TEXTS[checked.outcome]}: {claim}: {REASON_TEXTS[checked.reason]}"
    if result.run:
        yield f"Measured again in run {result.run}."


def _headline(result: ReplayResult) -> str:
    outcome = REPLAY_TEXTS[result.outcome].capitalize()
    if result.obstacle is not None:
        return f"{outcome}: {obstacle_text(result.obstacle)}."
    return f"{outcome}."


def _row(checked: CheckedClaim, names: Mapping[CellKey, str]) -> Row:
    again = NOT_MEASURED if checked.again is None else _span(checked.claim.kind, *checked.again)
    cells = (
        _claim(checked.claim, names),
        _claimed(checked.claim),
        again,
        REPLAY_TEXTS[checked.outcome],
    )
    return Row(cells, style=_STYLES.get(checked.outcome, ""))


def _claim(claim: Claim, names: Mapping[CellKey, str]) -> str:
    other = "" if claim.other is None else names[claim.other]
    return CLAIM_TEXTS[claim.kind].format(row=names[claim.row], other=other)


def _claimed(claim: Claim) -> str:
    return _span(claim.kind, claim.value, claim.low, claim.high)


def _span(kind: ClaimKind, value: float, low: float, high: float) -> str:
    if kind == "latency":
        return f"{significant(value)} ms [{significant(low)}, {significant(high)}]"
    shown, *ends = ratio(value, low, high)
    return f"{shown}x [{', '.join(ends)}]"


def _names(receipt: Receipt) -> Mapping[CellKey, str]:
    keys = {key for claim in receipt.claims for key in (claim.row, claim.other) if key is not None}
    return key_names(keys)
