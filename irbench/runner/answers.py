"""Check a cell's outputs against the reference, check them again after the first launch, and check the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from irbench.output_check import compare, is_excused, judge
from irbench.record import CellLaunch, Failure, OutputError
from irbench.spec import Cell, Scalar
from irbench.spi import Outputs

CHANGING = "its answers to the same inputs change between calls"


def require_answers(answers: Sequence[Outputs], asked: int, cell: Cell) -> None:
    """Refuse a cell that leaves answers out, which nothing would compare; code of the user's need not give any.

    Args:
        answers: What it gave.
        asked: How many were asked for.
        cell: It.

    Raises:
        ValueError: There are more or fewer. The message is a sentence for the cell's row.
    """
    if cell.program is None and len(answers) != asked:
        raise ValueError(f"gave {len(answers)} answers in place of {asked}")


def worst_error(answers: Sequence[Outputs], reference: Outputs, classifier: bool, scale: float = 1.0) -> OutputError:
    """Return how far the worst of several slots' answers is from the reference.

    Raises:
        ValueError: One cannot be compared; says why.
    """
    return max((compare(answer, reference, classifier, scale) for answer in answers), key=lambda error: error.max_rel)


def worse(first: OutputError | None, second: OutputError | None) -> OutputError | None:
    """Return the larger of two errors; ``None`` is no error that was measured."""
    known = [error for error in (first, second) if error is not None]
    return max(known, key=lambda error: error.max_rel, default=None)


def mismatch(cell: CellLaunch, planned: Cell) -> Failure | None:
    """Return why a cell's answers are wrong, by what it computes in and what its graph holds; ``None`` where right.

    What was not compared with a reference counts as right. So does what is off by more than the tolerance where the
    limit that the user gave is kept (:func:`irbench.output_check.is_excused`), if it is so from the first call on.

    Args:
        cell: What it answered and read back.
        planned: What it ran.
    """
    first, later = (_failure(error, cell, planned) for error in (cell.output_error, cell.repeat_error))
    if first is not None and not is_excused(cell.output_error, planned.accuracy):
        return first
    if later is not None and (first is None or not is_excused(cell.repeat_error, planned.accuracy)):
        return replace(later, message=f"{CHANGING}: {later.message}")
    return None


def _failure(error: OutputError | None, cell: CellLaunch, planned: Cell) -> Failure | None:
    held = planned.artifact.precision if planned.artifact is not None else ""
    return None if error is None else judge(error, str(cell.effective.get("precision")), held)


def fallback(cell: Cell, effective: Mapping[str, Scalar]) -> Failure | None:
    """Return why a cell may not be timed: its runtime went to another device than was asked for, and said nothing.

    Where the whole graph must run there, single nodes elsewhere are such a reason too, and so is not knowing of them.
    """
    device = effective.get("device", cell.device)
    if device != cell.device:
        hint = "See what is here: irbench backends --probe"
        return Failure("device", f"it runs on {device}, not on {cell.device}", hint)
    if not cell.load.require_full or cell.device == "cpu":
        return None
    return _partly_elsewhere(cell, effective)


def _partly_elsewhere(cell: Cell, effective: Mapping[str, Scalar]) -> Failure | None:
    elsewhere, nodes = effective.get("nodes_elsewhere"), effective.get("nodes")
    if elsewhere == 0:
        return None
    if elsewhere is None:
        message = f"{cell.backend} does not report which nodes run elsewhere than on {cell.device}"
        return Failure("device", message, "Leave --require-full out, or update the runtime.")
    operators = str(effective.get("operators_elsewhere")).replace(",", ", ")
    message = f"{elsewhere} of {nodes} nodes run elsewhere than on {cell.device}: {operators}"
    return Failure("device", message, "Leave --require-full out to measure it as it is.")
