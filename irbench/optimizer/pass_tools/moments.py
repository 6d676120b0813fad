"""Patterns of what subtracts a mean and divides by a standard deviation.

With m = mean(x), d = x - m, v = mean(d * d) and s = 1 / sqrt(v + epsilon) these are d / sqrt(v + epsilon), d * s,
d * (s * scale), and x * (s * scale) + (-m * (s * scale) + bias). Scale and bias are optional; d * d may be a power, s
a Reciprocal or a power.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from irbench.optimizer.pass_tools.rules import ANY, ORDERS, any_order, either, holds, number_beside

if TYPE_CHECKING:
    import onnx_ir as ir

Build = Callable[..., Any]


def forms() -> list[Build]:
    """Return the patterns; in each ``mean`` and ``variance`` are bound, and other names to what they may be."""
    keras = [partial(_keras, is_scaled, pair) for is_scaled in (True, False) for pair in ORDERS]
    multiplied = [partial(form, pair) for form in (_multiplied, _scaled_first) for pair in ORDERS]
    return [_divided, *keras, *multiplied]


def are_moments(x: ir.Value, epsilon: ir.Value, **optional: ir.Value | None) -> bool:
    """Whether the constants of a pattern that matched are what the formula says."""
    numbers = {"two": 2.0, "exponent": -0.5}
    return (number_beside(epsilon, x) or 0) > 0 and all(
        optional.get(name) is None or holds(optional[name], number, x) for name, number in numbers.items()
    )


def _keras(is_scaled: bool, pair: Build, op: Any, x: Any, epsilon: Any, two: Any, scale: Any, bias: Any) -> Any:
    # not one pattern with an optional scale: each of the two uses of the factor would match an alternative of its own
    mean, _, spread = _moments(op, x, epsilon, two)
    inverse = op.Reciprocal(op.Sqrt(spread))
    factor = any_order(op.Mul, inverse, scale) if is_scaled else inverse
    offset = any_order(op.Mul, op.Neg(mean), factor)
    shifted = either(any_order(op.Add, offset, bias), op.Sub(bias, any_order(op.Mul, mean, factor)), offset)
    return op.Add(*pair(any_order(op.Mul, x, factor), shifted))


def _divided(op: Any, x: Any, epsilon: Any, two: Any) -> Any:
    _, difference, spread = _moments(op, x, epsilon, two)
    return op.Div(difference, op.Sqrt(spread))


def _multiplied(pair: Build, op: Any, x: Any, epsilon: Any, two: Any, exponent: Any) -> Any:
    _, difference, spread = _moments(op, x, epsilon, two)
    return op.Mul(*pair(difference, either(op.Reciprocal(op.Sqrt(spread)), op.Pow(spread, exponent))))


def _scaled_first(pair: Build, op: Any, x: Any, epsilon: Any, two: Any, exponent: Any, scale: Any) -> Any:
    _, difference, spread = _moments(op, x, epsilon, two)
    inverse = either(op.Reciprocal(op.Sqrt(spread)), op.Pow(spread, exponent))
    return op.Mul(*pair(difference, any_order(op.Mul, inverse, scale)))


def _moments(op: Any, x: Any, epsilon: Any, two: Any) -> tuple[Any, Any, Any]:
    mean = op.ReduceMean(x, _outputs=["mean"], **ANY)
    difference = op.Sub(x, mean)
    square = either(op.Mul(difference, difference), op.Pow(difference, two))
    variance = op.ReduceMean(square, _outputs=["variance"], **ANY)
    return mean, difference, op.Add(variance, epsilon)
