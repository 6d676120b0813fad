"""What several processes of one cell answered, as the answer of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from irbench.errors import ExitCode
from irbench.measure.ledger import CommonWindow, Window, joined_window
from irbench.record import Evidence, Round, Sustained, WarmUp
from irbench.spi import Array
from irbench.worker.cell import Prepared, Warmed
from irbench.worker.failures import CallFailed
from irbench.worker.instance import Share

_MUST_AGREE = ("precision", "device")


def joined_prepared(prepared: Sequence[Prepared]) -> Prepared:
    """Return the answers of all processes, and what the runtime of the first read back.

    Raises:
        CallFailed: They compute in different precisions, or on different devices.
    """
    for name in _MUST_AGREE:
        found = dict.fromkeys(str(own.effective.get(name)) for own in prepared)
        if len(found) > 1:
            raise CallFailed(f"Its instances differ in {name}: {', '.join(found)}.", exit_code=ExitCode.FAILED_CELL)
    answers = tuple(answer for own in prepared for answer in own.outputs)
    return Prepared(prepared[0].effective, answers, max(own.first_inference_s for own in prepared))


def joined_warmed(warmed: Sequence[Warmed]) -> Warmed:
    """Return the speed of all processes together: they were warmed up side by side."""
    return Warmed(
        call_ns=max(own.call_ns for own in warmed),
        completion_ns=1 / sum(1 / own.completion_ns for own in warmed),
        calls_per_sample=1,
        phases_ns=_longest([own.phases_ns for own in warmed]),
        peak_memory_bytes=_summed([own.peak_memory_bytes for own in warmed]),
        private_memory_bytes=_summed([own.private_memory_bytes for own in warmed]),
        warm_up=_joined_warm_up([own.warm_up for own in warmed if own.warm_up is not None]),
        repeat_s=max((own.repeat_s for own in warmed if own.repeat_s is not None), default=None),
    )


def _joined_warm_up(found: Sequence[WarmUp]) -> WarmUp | None:
    """Return the warm-up of the process that was steady last, with the calls of the one that made fewest."""
    if not found:
        return None
    last = max(found, key=lambda own: (own.ended_unsteady, own.steady_after or 0))
    return replace(last, calls=min(own.calls for own in found))


def joined_answers(answers: Sequence[tuple[tuple[Array, ...], ...]]) -> tuple[tuple[Array, ...], ...]:
    """Return the answers of all processes, one after the other."""
    return tuple(answer for own in answers for answer in own)


def joined_memory(peaks_bytes: Sequence[int | None]) -> int | None:
    """Return the sum of what is known of all; ``None`` where something is not."""
    known = [peak for peak in peaks_bytes if peak is not None]
    return sum(known) if len(known) == len(peaks_bytes) else None


JOINED: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "import_runtime": lambda _: None,
    "prepare": joined_prepared,
    "warm_up": joined_warmed,
    "answer_again": joined_answers,
    "answer_call": joined_answers,
    "peak_memory_bytes": joined_memory,
    "private_memory_bytes": joined_memory,
}
"""By method of :class:`irbench.worker.run.RunHost`: makes one answer of those of all processes."""


def joined_shares(shares: Sequence[Share], window: CommonWindow) -> Window:
    """Return what processes did in their common window.

    Args:
        shares: What each of them did.
        window: When it opens and closes.

    Raises:
        CallFailed: They did not run at the same time.
    """
    try:
        return joined_window([share.times_ns for share in shares], window)
    except ValueError as error:
        raise CallFailed(f"Its instances did not run side by side: {error}.", exit_code=ExitCode.FAILED_CELL) from error


def as_round(block: int, window: Window, shares: Sequence[Share]) -> Round:
    """Return a common window as a round of the cell."""
    evidence = _joined_evidence([share.evidence for share in shares])
    return Round(block, window.issue_ns, window.completion_ns, evidence, window.open_ns)


def as_sustained(cell: str, window: Window) -> Sustained:
    """Return a common window as a run of the cell alone."""
    return Sustained(cell, window.completion_ns.size, math.ceil(window.completion_ns[-1]))


def _joined_evidence(found: Sequence[Evidence]) -> Evidence:
    """Return what the kernel saw of all processes: the longest wall time, and the sum of everything else."""
    sums = {
        field.name: joined_memory([getattr(evidence, field.name) for evidence in found]) for field in fields(Evidence)
    }
    return Evidence(**{**sums, "wall_ns": max(evidence.wall_ns for evidence in found)})  # type: ignore[arg-type]


def _longest(phases_ns: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: max(own.get(name, 0) for own in phases_ns) for own in phases_ns for name in own}


def _summed(peaks_bytes: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(own.get(name, 0) for own in peaks_bytes) for own in peaks_bytes for name in own}
