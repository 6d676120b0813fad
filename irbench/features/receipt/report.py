"""A receipt: what a run claims, with everything that is needed to check it elsewhere, in one file.

The file is JSON. Its digest is over the whole document, with keys that no class here has, and finds what was changed by
accident or by hand; it is not a signature. Format history:

1. The first. Claims were verdicts and intervals alone; their reservations are unknown.
2. Claims have a condition and reservations, and the receipt says what is not claimed.

A new code of a warning, or of a reason why there is no winner, is a new format here too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from irbench.across_runs.checked_runs import CheckedRun
from irbench.across_runs.differences import fingerprint
from irbench.across_runs.measured_cells import CellKey, MeasuredGraph, key_of, measured_graphs
from irbench.core.result import Condition, GroupResult, NoWinner
from irbench.core.row import CellResult
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.notices import AnyMark, AnyWarn
from irbench.stats.rederive import rederive
from irbench.system.document_damage import damage_text, refuse_newer
from irbench.system.prepared_types import prepared

_FORMAT = 2

ClaimKind = Literal["winner", "speedup", "latency"]
"""``winner``: a row is faster than every other; ``speedup``: than the baseline; ``latency``: the p50 of a table's only
row, in milliseconds."""
ClaimedVerdict = Literal["faster", "slower", "same", "measured"]
Unclaimed = Literal["undecided", "preview", "mismatch", "failed", "not-applicable", "interrupted", "not-measured"]


@dataclass(frozen=True)
class Reservations:
    """What the run said against a claim, and on how much the claim rests.

    Attributes:
        no_winner: Why the claim's table calls no row the fastest; ``None`` where it does, or has nothing to compare.
        launches: How many measured what is claimed.
        preview: Whether the table had too few launches for an interval.
        blocks_disturbed: How many of them something outside disturbed; ``None`` where an older document does not say.
        warnings: Of the table, those that name a row of the claim or none at all.
        marks: Those of the claim's rows, by their cells' ids: other precision, for example.
        rows: What the cells' ids in marks and in facts of warnings stand for.
    """

    no_winner: NoWinner | None
    launches: int
    preview: bool
    blocks_measured: int
    blocks_disturbed: int | None
    blocks_excluded: int
    warnings: tuple[AnyWarn, ...]
    marks: Mapping[str, tuple[AnyMark, ...]]
    rows: Mapping[str, CellKey]


@dataclass(frozen=True)
class Claim:
    """One statement of a run.

    Attributes:
        row: The cell it is about.
        other: The cell it is compared with: the winner's rival or the baseline; ``None`` for a latency.
        verdict: What is stated of the row; ``measured`` for a latency.
        value: The ratio of speeds, above 1 where the row is faster; of a latency, milliseconds.
        condition: What it holds under; ``None`` where nothing restricts it.
        reservations: What speaks against it.
    """

    kind: ClaimKind
    row: CellKey
    other: CellKey | None
    verdict: ClaimedVerdict
    value: float
    low: float
    high: float
    condition: Condition | None
    reservations: Reservations


@dataclass(frozen=True)
class NotClaimed:
    """A row of the run of which the receipt states nothing."""

    row: CellKey
    reason: Unclaimed


@dataclass(frozen=True)
class Receipt:
    """What a run claims.

    Attributes:
        format: Of the file.
        run_id: The run's ULID.
        created: When it began, ISO 8601, UTC.
        irbench_version: Of the program that measured.
        machine: Fingerprint of the machine.
        environment: The machine and its software.
        plan: What was asked for.
        launches: Digest of each launch's file.
        graphs: What was measured.
        claims: What it says.
        not_claimed: The rows that it leaves open.
        sha256: Digest of all of that.
    """

    format: int
    run_id: str
    created: str
    irbench_version: str
    machine: str
    environment: Mapping[str, Any]
    plan: StoredPlan
    launches: Mapping[str, str]
    graphs: tuple[MeasuredGraph, ...]
    claims: tuple[Claim, ...]
    not_claimed: tuple[NotClaimed, ...]
    sha256: str = ""


def receipt_of(run: CheckedRun) -> Receipt:
    """Return the receipt of a run, whose claims are derived from its samples again."""
    document = rederive(run.document, run.records)
    claims = tuple(claim for table in document.groups for claim in _claims(table))
    if not claims:
        is_busy = any(table.is_mostly_disturbed for table in document.groups)
        raise IrbenchError(
            f"Run {run.run_id} claims nothing: none of its verdicts is decided.",
            hint="Other programs disturbed most blocks (irbench doctor names them): measure when they are idle."
            if is_busy
            else "Measure longer: without --quick, with --thorough or with a larger --budget.",
        )
    return sealed(
        Receipt(
            format=_FORMAT,
            run_id=document.run_id,
            created=document.created,
            irbench_version=document.irbench_version,
            machine=fingerprint(document.environment),
            environment=document.environment,
            plan=document.plan,
            launches=document.launches,
            graphs=measured_graphs(run.document),
            claims=claims,
            not_claimed=tuple(item for table in document.groups for item in _not_claimed(table)),
        )
    )


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the file's content."""
    return msgspec.json.format(msgspec.json.encode(receipt), indent=1) + b"\n"


def decode_receipt(data: bytes, name: str) -> Receipt:
    """Return the receipt that a file holds."""
    try:
        version = msgspec.json.decode(data, type=prepared(_ReceiptVersion)).format
        refuse_newer(name, version, _FORMAT)
        if version < _FORMAT:
            raise IrbenchError(
                f"{name} is of format {version}, which this irbench does not read (it reads format {_FORMAT}).",
                hint="Make it again: irbench receipt RUN -o claim.irb",
            )
        receipt = msgspec.json.decode(data, type=prepared(Receipt))
        digest = _digest_of_file(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise IrbenchError(
            f"{name} is not a receipt, or is damaged: {damage_text(error)}.",
            hint="Make one: irbench receipt RUN -o claim.irb",
        ) from error
    if digest != receipt.sha256 or not digest:
        raise IrbenchError(
            f"{name} was changed after it was written: its checksum does not match.",
            hint="Ask for the original, or make it again: irbench receipt RUN -o claim.irb",
        )
    return receipt


def sealed(receipt: Receipt) -> Receipt:
    """Return a receipt with the digest of its own content."""
    return replace(receipt, sha256=_digest(msgspec.to_builtins(receipt)))


def _digest(document: Mapping[str, Any]) -> str:
    """Return the digest of a document as it stands: also of keys that this irbench does not know."""
    content = msgspec.json.encode({**document, "sha256": ""}, order="sorted")
    return hashlib.sha256(content).hexdigest()


def _digest_of_file(data: bytes) -> str:
    """Return the digest of a file's document; empty where an object in it has a key twice."""
    try:
        return _digest(json.loads(data, object_pairs_hook=_once_each))
    except _KeyTwice:
        return ""


class _KeyTwice(Exception):
    """An object has a key twice: one reader would take its first value, and another its last."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise _KeyTwice
    return document


def condition_of(table: GroupResult) -> Condition | None:
    """Return what every claim of a table holds under; ``None`` where nothing restricts it."""
    return "busy" if table.is_busy else table.condition


def reservations_of(table: GroupResult, named: Iterable[str], launches: int | None) -> Reservations:
    """Return what a table says against a claim."""
    cells, own = {row.id for row in table.cells}, set(named)
    bearing = tuple(
        warning for warning in table.warnings if not (mentioned := warning.named_rows & cells) or mentioned & own
    )
    marks = {row.id: row.marks for row in table.cells if row.id in own and row.marks}
    shown = marks.keys() | {cell for warning in bearing for cell in warning.named_rows}
    return Reservations(
        no_winner=None if table.lead is None else table.lead.reason,
        launches=table.launches if launches is None else launches,
        preview=table.preview,
        blocks_measured=table.blocks_measured,
        blocks_disturbed=table.blocks_disturbed,
        blocks_excluded=table.blocks_excluded,
        warnings=bearing,
        marks=marks,
        rows={row.id: key_of(table, row) for row in table.cells if row.id in shown},
    )


def _claims(table: GroupResult) -> Iterator[Claim]:
    keys = {row.id: key_of(table, row) for row in table.cells}

    def claim(
        kind: ClaimKind, cells: tuple[str, str | None], verdict: ClaimedVerdict, ends: _Ends, launches: int | None
    ) -> Claim:
        row, other = cells
        return Claim(
            kind,
            keys[row],
            None if other is None else keys[other],
            verdict,
            *ends,
            condition=condition_of(table),
            reservations=reservations_of(table, keys if kind == "winner" else filter(None, cells), launches),
        )

    winner = table.winner
    if winner is not None:
        launches = None if table.lead is None else table.lead.launches
        ends = winner.value, winner.low, winner.high
        yield claim("winner", (winner.cell, winner.rival), "faster", ends, launches)
    for row in table.cells:
        speedup = row.speedup
        if speedup is None or speedup.low is None or speedup.high is None or table.baseline not in keys:
            continue
        if speedup.verdict in ("faster", "slower", "same"):
            ends = speedup.value, speedup.low, speedup.high
            yield claim("speedup", (row.id, table.baseline), speedup.verdict, ends, speedup.launches)
    spans = table.cells[0].p50_over_launches if len(table.cells) == 1 and not table.preview else None
    if spans is not None and spans.low is not None and spans.high is not None:
        (only,) = table.cells
        ends = spans.value, spans.low, spans.high
        yield claim("latency", (only.id, None), "measured", ends, only.launches_measured)


_Ends = tuple[float, float, float]


def _not_claimed(table: GroupResult) -> Iterator[NotClaimed]:
    for row in table.cells:
        reason = _why_unclaimed(table, row)
        if reason is not None:
            yield NotClaimed(key_of(table, row), reason)


def _why_unclaimed(table: GroupResult, row: CellResult) -> Unclaimed | None:
    if row.state != "ok":
        return row.state
    if row.speedup is not None and row.speedup.verdict in ("undecided", "preview"):
        return row.speedup.verdict
    return "preview" if table.preview and len(table.cells) == 1 else None


class _ReceiptVersion(msgspec.Struct):
    format: int
