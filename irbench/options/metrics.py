"""Reading how good outputs must be: ``--min-accuracy`` and ``--metric``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from irbench.options import own_code
from irbench.spec import Bound

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
        target = own_code.cell_of_text(f"metric={function}")[1]
        if target.kind != "callable":
            raise ValueError(f"{function!r} is not module:function or path/to/file.py:function")
        return _metric(target.target, sign, limit)
    if isinstance(value, tuple) and len(value) == 2 and callable(value[0]):
        _, sign, limit = _split(f"fn{value[1]}")
        return _metric(own_code.target_of(value[0]), sign, limit)
    if callable(value):
        return Metric(own_code.target_of(value))
    raise TypeError(f"{value!r} is no function and no text such as {_EXAMPLE}")


def min_accuracy(value: str | float) -> float:
    """Return a share, or the least value of a measure: of ``"99%"``, ``"0.99"`` or 0.99.

    Raises:
        ValueError: It is no number.
    """
    if isinstance(value, str) and value.strip().endswith("%"):
        return _number(value.strip().removesuffix("%")) / 100
    return _number(value)


def metric_text(own: Metric) -> str:
    """Return a measure as the command line takes it: ``file.py:fn>=0.9``."""
    return own.function if own.limit is None else f"{own.function}{_SIGNS[own.bound]}{own.limit!r}"


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
