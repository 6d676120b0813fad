"""A receipt: what a run claims, with everything that is needed to check it elsewhere, in one file.

The file is JSON. Its digest finds what was changed by accident or by hand; it is no signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from irbench.across_runs.cell_keys import CellKey, key_of
from irbench.across_runs.environments import fingerprint
from irbench.across_runs.graphs import MeasuredGraph, measured_graphs
from irbench.across_runs.reading import CheckedRun
from irbench.errors import IrbenchError
from irbench.result import GroupResult
from irbench.stats.rederive import rederive
from irbench.system.document_damage import damage_text

__all__ = ["Claim", "ClaimKind", "Receipt", "decode_receipt", "encode_receipt", "receipt_of"]

_FORMAT = 1

ClaimKind = Literal["winner", "speedup", "latency"]
"""``winner``: a row is faster than every other; ``speedup``: than the baseline; ``latency``: the p50 of a table's only
row, in milliseconds."""
ClaimedVerdict = Literal["faster", "slower", "same", "measured"]


@dataclass(frozen=True)
class Claim:
    """One statement of a run.

    Attributes:
        kind: What is stated.
        row: The cell it is about.
        other: The cell it is compared with: the winner's rival or the baseline; ``None`` for a latency.
        verdict: What is stated of the row; ``measured`` for a latency.
        value: The ratio of speeds, above 1 where the row is faster; of a latency, milliseconds.
        low: Lower end of its interval.
        high: Upper end.
    """

    kind: ClaimKind
    row: CellKey
    other: CellKey | None
    verdict: ClaimedVerdict
    value: float
    low: float
    high: float


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
        sha256: Digest of all of that.
    """

    format: int
    run_id: str
    created: str
    irbench_version: str
    machine: str
    environment: Mapping[str, Any]
    plan: Mapping[str, Any]
    launches: Mapping[str, str]
    graphs: tuple[MeasuredGraph, ...]
    claims: tuple[Claim, ...]
    sha256: str = ""


def receipt_of(run: CheckedRun) -> Receipt:
    """Return the receipt of a run, whose claims are derived from its samples again.

    Raises:
        IrbenchError: It claims nothing: no verdict is sure, or it compares no speeds.
    """
    document = rederive(run.document, run.records)
    claims = tuple(claim for table in document.groups for claim in _claims(table))
    if not claims:
        raise IrbenchError(
            f"Run {run.run_id} claims nothing: none of its verdicts is decided.",
            hint="Measure longer: irbench run without --quick, or with --thorough.",
        )
    return _sealed(
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
        )
    )


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the file's content."""
    return msgspec.json.format(msgspec.json.encode(receipt), indent=1) + b"\n"


def decode_receipt(data: bytes, name: str) -> Receipt:
    """Return the receipt that a file holds.

    Args:
        data: Its content.
        name: What to call it in an error.

    Raises:
        IrbenchError: It is of a newer format, no receipt, or was changed after it was written.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).format
        if version > _FORMAT:
            raise IrbenchError(
                f"{name} was written by a newer irbench (format {version}; this one reads up to {_FORMAT}).",
                hint="Update irbench: pip install --upgrade irbench",
            )
        receipt = msgspec.json.decode(data, type=Receipt)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IrbenchError(
            f"{name} is not a receipt, or is damaged: {damage_text(error)}.",
            hint="Make one: irbench receipt RUN -o claim.irb",
        ) from error
    if _sealed(receipt).sha256 != receipt.sha256:
        raise IrbenchError(
            f"{name} was changed after it was written: its checksum does not match.",
            hint="Ask for the original, or make it again: irbench receipt RUN -o claim.irb",
        )
    return receipt


def _sealed(receipt: Receipt) -> Receipt:
    content = msgspec.json.encode(replace(receipt, sha256=""), order="sorted")
    return replace(receipt, sha256=hashlib.sha256(content).hexdigest())


def _claims(table: GroupResult) -> Iterator[Claim]:
    keys = {row.id: key_of(table, row) for row in table.cells}
    winner = table.winner
    if winner is not None:
        best, rival = keys[winner.cell], keys[winner.rival]
        yield Claim("winner", best, rival, "faster", winner.value, winner.low, winner.high)
    for row in table.cells:
        found = row.speedup
        if found is not None and found.verdict in ("faster", "slower", "same") and table.baseline in keys:
            baseline = keys[str(table.baseline)]
            yield Claim("speedup", keys[row.id], baseline, found.verdict, found.value, found.low, found.high)
    if len(table.cells) == 1 and not table.preview and (spans := table.cells[0].p50_over_launches) is not None:
        yield Claim("latency", keys[table.cells[0].id], None, "measured", spans.value, spans.low, spans.high)


class _Version(msgspec.Struct):
    format: int
