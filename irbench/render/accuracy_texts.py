"""How good outputs are, and how good they have to be, in words."""

from __future__ import annotations

from irbench.core.record import Failure
from irbench.notices.conversions import top1_text
from irbench.spec import Accuracy, AccuracyLimit, Bound, Cell

_BOUND_TEXTS: dict[Bound, str] = {"at-least": "at least", "at-most": "at most"}


def measure_text(limit: AccuracyLimit) -> str:
    """Return what is measured: ``top-1 agreement``, or the user's function."""
    return limit.function_name or top1_text(limit.classes)


def accuracy_text(value: float, limit: AccuracyLimit) -> str:
    """Return a value by the measure of a limit: ``99.2 %``, or ``0.913`` of a user's function."""
    return f"{value:.4g}" if limit.function else f"{100 * value:.4g} %"


def limit_text(limit: AccuracyLimit) -> str:
    """Return what is asked for: ``top-1 agreement at least 99 %``."""
    return f"{measure_text(limit)} {_BOUND_TEXTS[limit.bound]} {accuracy_text(limit.limit, limit)}"


def accuracy_line(cell: Cell, accuracy: Accuracy | Failure) -> str:
    """Return what came out for the rows that answer as one does: ``ort bf16: top-1 agreement 99.2 %``."""
    from irbench.optimizer import UNOPTIMIZED  # tables of stored runs do without

    level = cell.artifact.variant if cell.artifact is not None else ""
    graph = "" if level in ("", UNOPTIMIZED) else f"+{level}"
    varied = (f"{key}={value}" for key, value in cell.load.varied.items())
    name = " ".join((f"{cell.address}{graph}", cell.load.precision, *varied))
    if isinstance(accuracy, Failure):
        return f"{name}: {accuracy.message}"
    excluded = "" if accuracy.is_within_limit else ", excluded"
    return f"{name}: {measure_text(accuracy.limit)} {accuracy_text(accuracy.value, accuracy.limit)}{excluded}"
