"""How good answers must be: read from ``--min-accuracy`` and ``--metric``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from irbench.api import own_cells
from irbench.errors import IrbenchError
from irbench.spec import AccuracyLimit, Bound, Program

if TYPE_CHECKING:
    from irbench.api.options import RunOptions

__all__ = [
    "Metric",
    "OwnMetric",
    "accuracy_limit",
    "metric",
    "metric_text",
    "min_accuracy",
    "options_of_limit",
    "programs_of_limit",
]

OwnMetric: TypeAlias = str | Callable[..., Any] | tuple[Callable[..., Any], str]
"""``file.py:fn>=0.9``, a function of a module, or a function with its limit: ``(fn, ">=0.9")``."""

_BOUNDS: dict[str, Bound] = {">=": "at-least", "<=": "at-most"}
_SIGNS = {bound: sign for sign, bound in _BOUNDS.items()}
_EXAMPLE = "file.py:fn>=0.9 or package.module:fn<=0.1"


@dataclass(frozen=True)
class Metric:
    """The user's own measure.

    Attributes:
        function: ``module:function`` or ``path/to/file.py:function``.
        bound: Whether the limit is the least or the largest value.
        limit: ``None`` where ``--min-accuracy`` has it.
    """

    function: str
    bound: Bound = "at-least"
    limit: float | None = None


def metric(value: OwnMetric) -> Metric:
    """Return a measure: of ``"file.py:fn>=0.9"``, a function, or ``(function, ">=0.9")``.

    Raises:
        TypeError: It is none of them.
        ValueError: It names no function that another process can import, or the limit is no number.
    """
    if isinstance(value, str):
        function, sign, limit = _split(value)
        target = own_cells.cell_of_text(f"metric={function}")[1]
        if target.kind != "callable":
            raise ValueError(f"{function!r} is not module:function or path/to/file.py:function")
        return _metric(target.target, sign, limit)
    if isinstance(value, tuple) and len(value) == 2 and callable(value[0]):
        _, sign, limit = _split(f"fn{value[1]}")
        return _metric(own_cells.target_of(value[0]), sign, limit)
    if callable(value):
        return Metric(own_cells.target_of(value))
    raise TypeError(f"{value!r} is no function and no text such as {_EXAMPLE}")


def min_accuracy(value: str | float) -> float:
    """Return a share, or the least value of a measure: of ``"99%"``, ``"0.99"`` or 0.99.

    Raises:
        ValueError: It is no number.
    """
    if isinstance(value, str) and value.strip().endswith("%"):
        return _number(value.strip().removesuffix("%")) / 100
    return _number(value)


def accuracy_limit(options: RunOptions) -> AccuracyLimit | None:
    """Return how good answers must be; ``None`` where nothing was asked for.

    Raises:
        IrbenchError: There are two limits, none, or one that no share of samples can have.
    """
    own, least = options.metric, options.min_accuracy
    if own is None:
        return None if least is None else AccuracyLimit(_share(least))
    if (own.limit is None) == (least is None):
        raise IrbenchError(
            f"--metric {own.function} has {'two limits' if least is not None else 'no limit'}.",
            hint=f"Write the limit once, in quotes: --metric '{own.function}>=0.9'.",
        )
    own_cells.require_function(own.function)
    limit = own.limit if least is None else least
    assert limit is not None
    return AccuracyLimit(limit, own.bound, own.function)


def metric_text(own: Metric) -> str:
    """Return a measure as the command line takes it: ``file.py:fn>=0.9``."""
    return own.function if own.limit is None else f"{own.function}{_SIGNS[own.bound]}{own.limit!r}"


def options_of_limit(limit: AccuracyLimit | None) -> dict[str, str]:
    """Return the options of the command line that ask for a limit."""
    if limit is None:
        return {}
    if not limit.function:
        return {"--min-accuracy": repr(limit.limit)}
    return {"--metric": metric_text(Metric(limit.function, limit.bound, limit.limit))}


def programs_of_limit(limit: AccuracyLimit | None) -> tuple[Program, ...]:
    """Return the user's own code that measures accuracy, if any does."""
    return () if limit is None or not limit.function else (Program("callable", limit.function),)


def _share(value: float) -> float:
    if not 0 < value <= 1:
        raise IrbenchError(
            f"--min-accuracy {value:g} is no share of samples.", hint="Write it as 99% or 0.99; 100% is the most."
        )
    return value


def _split(text: str) -> tuple[str, str, str]:
    """Return what stands before a comparison, its sign and what follows; the last two empty without one."""
    match = re.fullmatch(r"([^<>=]+?)\s*(>=|<=)\s*([^<>=]+)", text.strip())
    if match is not None:
        return match[1], match[2], match[3]
    if re.search(r"[<>=]", text):
        raise ValueError(f"{text!r} is not written like {_EXAMPLE}")
    return text.strip(), "", ""


def _metric(function: str, sign: str, limit: str) -> Metric:
    return Metric(function) if not sign else Metric(function, _BOUNDS[sign], _number(limit))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is no number")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no number")
    return number
