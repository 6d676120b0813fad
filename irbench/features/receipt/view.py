"""The claims of a receipt, and what became of them, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from irbench.across_runs.measured_cells import CellKey, key_names
from irbench.core.quantities import NOT_MEASURED, listing, plural, significant
from irbench.core.result import Condition
from irbench.core.row import Ends
from irbench.features.receipt.replay import CheckedClaim, ClaimReason, ReplayResult
from irbench.features.receipt.report import Claim, ClaimKind, NotClaimed, Receipt, Reservations, Unclaimed
from irbench.notices import Context
from irbench.notices.warnings import by_cost
from irbench.render.figure_texts import ends_text, ratio_with_ends
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.verdicts import NO_WINNER_TEXTS, style_of
from irbench.render.views import PlainView

_CLAIMS: Mapping[ClaimKind, str] = {
    "winner": "{row} is the fastest, before {other}",
    "speedup": "{row} against {other}",
    "latency": "p50 of {row}",
}
_CONDITIONS: Mapping[Condition, str] = {
    "busy": "this holds on the machine as busy as it was, and a quiet one may differ",
}
_UNCLAIMED: Mapping[Unclaimed, str] = {"preview": "too few launches", "mismatch": "wrong outputs"}
"""Others are called what they are."""
_REASONS: Mapping[ClaimReason, str] = {
    "same": "same verdict, and the intervals agree",
    "other-verdict": "another verdict, and the intervals do not agree",
    "other-size": "same verdict, but the intervals do not agree",
    "other-condition": "the intervals do not agree, but only one of the two runs was measured on a busy machine",
    "other-load": "the intervals do not agree, but both runs were measured on a busy machine, under different loads",
    "not-decided": "the intervals agree, but the verdict is different or undecided",
    "not-measured": "not measured this time",
}


def _spelled(code: str) -> str:
    return code.replace("-", " ")


def receipt_view(receipt: Receipt) -> PlainView:
    """Return what a receipt claims."""
    columns = (
        TableColumn("claim", words=True, folds=True),
        TableColumn("verdict", words=True),
        TableColumn("value [interval]"),
        TableColumn("launches", drops=1),
    )
    names = _names(receipt)
    statements = [_StatedClaim(_claim(claim, names), claim.condition, claim.reservations) for claim in receipt.claims]
    rows = (
        Row((_claim(claim, names), claim.verdict, _claimed(claim), str(claim.reservations.launches)))
        for claim in receipt.claims
    )
    return PlainView(
        title=f"receipt of run {receipt.run_id} · {receipt.created} · machine {receipt.machine}",
        headline="",
        table=TextTable(columns, tuple(rows)),
        notes=(
            *_reserved(statements),
            *_marks(statements, names),
            *_open(receipt.not_claimed, names),
            f"sha256 {receipt.sha256}",
        ),
        warnings=tuple(_warnings(statements, names)),
    )


def replay_view(result: ReplayResult) -> PlainView:
    """Return what became of the claims of a receipt."""
    columns = (
        TableColumn("claim", words=True, folds=True),
        TableColumn("claimed"),
        TableColumn("measured again"),
        TableColumn("outcome", words=True),
        *((TableColumn("would refute", words=True, folds=True),) if _says_what_is_detectable(result) else ()),
    )
    names = _names(result.receipt)
    statements = [
        _StatedClaim(_claim(claim, names), claim.condition, claim.reservations) for claim in result.receipt.claims
    ]
    again = [
        _StatedClaim(_claim(checked.claim, names), checked.condition, checked.reservations)
        for checked in result.claims
        if checked.reservations is not None
    ]
    notes = (
        *_replay_notes(result, names),
        *(f"The run of the receipt: {line}" for line in _reserved(statements)),
        *(f"The second run: {line}" for line in _reserved(again)),
        *_marks((*statements, *again), names),
        *_open(result.receipt.not_claimed, names),
    )
    return PlainView(
        title=f"replay of run {result.receipt.run_id} · {result.receipt.created}",
        headline=_headline(result),
        table=TextTable(columns, tuple(_row(checked, names, len(columns)) for checked in result.claims)),
        notes=notes,
        warnings=(
            *(f"{line} (the run of the receipt)" for line in _warnings(statements, names)),
            *(f"{line} (the second run)" for line in _warnings(again, names)),
        ),
    )


@dataclass(frozen=True)
class _StatedClaim:
    text: str
    condition: Condition | None
    reservations: Reservations


def _reserved(statements: Iterable[_StatedClaim]) -> Iterator[str]:
    """Yield how disturbed the measurement was and why it has no winner: once for all claims of which that is true."""
    claims_by_line: dict[str, list[str]] = {}
    for item in statements:
        claims_by_line.setdefault(_reservation(item), []).append(item.text)
    for line, claims in claims_by_line.items():
        yield line if len(claims_by_line) == 1 else f"{listing(claims)}: {line}"


def _reservation(statement: _StatedClaim) -> str:
    against = statement.reservations
    disturbed = "an unknown number" if against.blocks_disturbed is None else str(against.blocks_disturbed)
    share = f"{disturbed} of {plural(against.blocks_measured, 'block')} were disturbed"
    condition = "" if statement.condition is None else f": {_CONDITIONS[statement.condition]}"
    reason = against.no_winner
    winner = "" if reason is None else f" The run called no row the fastest: {NO_WINNER_TEXTS[reason].reason}."
    return f"{share}{condition}.{winner}"


def _open(not_claimed: Iterable[NotClaimed], names: Mapping[CellKey, str]) -> Iterator[str]:
    rows = [f"{names[item.row]} ({_UNCLAIMED.get(item.reason) or _spelled(item.reason)})" for item in not_claimed]
    if rows:
        yield f"Nothing is claimed of {listing(rows)}."


def _warnings(statements: Iterable[_StatedClaim], names: Mapping[CellKey, str]) -> Iterator[str]:
    warnings = {
        msgspec.json.encode(warning, order="sorted"): (warning, against.rows)
        for against in (item.reservations for item in statements)
        for warning in against.warnings
    }
    rows = {id(warning): keys for warning, keys in warnings.values()}
    for warning in by_cost([warning for warning, _ in warnings.values()]):
        called = {cell: names.get(key, cell) for cell, key in rows[id(warning)].items()}
        yield f"warning: {warning.brief(Context(called))} [{warning.code}]"


def _marks(statements: Iterable[_StatedClaim], names: Mapping[CellKey, str]) -> Iterator[str]:
    yield from dict.fromkeys(
        f"{names.get(against.rows[cell], cell)}: {mark.text()}."
        for against in (item.reservations for item in statements)
        for cell, marks in against.marks.items()
        if cell in against.rows
        for mark in marks
    )


def _replay_notes(result: ReplayResult, names: Mapping[CellKey, str]) -> Iterator[str]:
    """Yield why each claim that is not confirmed is not, and where to look further."""
    for checked in result.claims:
        if checked.outcome != "confirmed":
            claim = _claim(checked.claim, names)
            yield f"{_spelled(checked.outcome)}: {claim}: {_REASONS[checked.reason]}"
    if _says_what_is_detectable(result):
        yield (
            "would refute: values of the second run that would have refuted the claim; it could not have detected"
            " smaller differences"
        )
    if result.run:
        yield f"Measured again in run {result.run}."


def _headline(result: ReplayResult) -> str:
    outcome = _spelled(result.outcome).capitalize()
    if result.obstacle is not None:
        return f"{outcome}: {result.obstacle.text()}."
    return f"{outcome}."


def _row(checked: CheckedClaim, names: Mapping[CellKey, str], columns: int) -> Row:
    again = NOT_MEASURED if checked.again is None else _span(checked.claim.kind, *checked.again)
    cells = (
        _claim(checked.claim, names),
        _claimed(checked.claim),
        again,
        _spelled(checked.outcome),
        _detectable(checked),
    )
    return Row(cells[:columns], style=style_of(checked.outcome))


def _says_what_is_detectable(result: ReplayResult) -> bool:
    """Whether some claim is confirmed, which may be for lack of precision alone."""
    return any(checked.detectable is not None and checked.outcome == "confirmed" for checked in result.claims)


def _detectable(checked: CheckedClaim) -> str:
    """Return ``below 1.39x or above 5.80x``; ``-`` where the second run has no interval."""
    if checked.detectable is None:
        return NOT_MEASURED
    low, high = (_span(checked.claim.kind, value, None, None) for value in checked.detectable)
    return f"below {low} or above {high}"


def _claim(claim: Claim, names: Mapping[CellKey, str]) -> str:
    other = "" if claim.other is None else names[claim.other]
    return _CLAIMS[claim.kind].format(row=names[claim.row], other=other)


def _claimed(claim: Claim) -> str:
    return _span(claim.kind, claim.value, claim.low, claim.high)


def _span(kind: ClaimKind, value: float, low: float | None, high: float | None) -> str:
    ends = None if low is None or high is None else Ends(low, high, is_range=False)
    if kind == "latency":
        return f"{significant(value)} ms{ends_text(ends)}"
    shown, span = ratio_with_ends(value, ends)
    return f"{shown}x{span}"


def _names(receipt: Receipt) -> Mapping[CellKey, str]:
    keys = {key for claim in receipt.claims for key in (claim.row, claim.other) if key is not None}
    keys |= {item.row for item in receipt.not_claimed}
    keys |= {key for claim in receipt.claims for key in claim.reservations.rows.values()}
    return key_names(keys)
