"""Fuse the Gaussian error linear unit (Hendrycks and Gimpel, 2016) into Gelu.

1. 0.5 * x * (1 + erf(x / sqrt(2)))                               -> Gelu(x)
2. 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))      -> Gelu(x), approximate="tanh"

The three factors may be multiplied in any order; x / sqrt(2) may be a product, x^3 a power or products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from irbench.onnx.shapes import infer
from irbench.optimizer.pass_tools.rules import ORDERS, Rule, any_order, apply_rules, either, holds
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

Build = Callable[..., Any]

_EXACT = {"half": 0.5, "one": 1, "root": math.sqrt(2), "inverse_root": math.sqrt(0.5)}
_TANH = {"half": 0.5, "one": 1, "slope": math.sqrt(2 / math.pi), "cubic": 0.044715, "three": 3}


def _fuse_gelu(model: ir.Model) -> bool:
    infer(model)
    wholes: list[Build] = [partial(form, pair) for form in (_half_first, _half_with_rest) for pair in ORDERS]
    wholes.append(_half_last)
    rules = [Rule(partial(_exact_form, whole), _exact, _is_exact) for whole in wholes]
    rules += [Rule(partial(_tanh_form, whole), _tanh, _is_tanh) for whole in wholes]
    return apply_rules(model, rules)


def _half_first(pair: Build, op: Any, x: Any, half: Any, rest: Any) -> Any:
    return op.Mul(*pair(op.Mul(x, half), rest))


def _half_with_rest(pair: Build, op: Any, x: Any, half: Any, rest: Any) -> Any:
    return op.Mul(*pair(x, op.Mul(rest, half)))


def _half_last(op: Any, x: Any, half: Any, rest: Any) -> Any:
    return op.Mul(any_order(op.Mul, x, rest), half)


def _exact_form(whole: Build, op: Any, x: Any, half: Any, one: Any, root: Any, inverse_root: Any) -> Any:
    narrowed = either(op.Div(x, root), op.Mul(x, inverse_root))
    return whole(op, x, half, op.Add(op.Erf(narrowed), one))


def _tanh_form(whole: Build, op: Any, x: Any, half: Any, one: Any, slope: Any, cubic: Any, three: Any) -> Any:
    cube = either(op.Pow(x, three), any_order(op.Mul, x, op.Mul(x, x)))
    inner = op.Mul(any_order(op.Add, x, op.Mul(cube, cubic)), slope)
    return whole(op, x, half, op.Add(op.Tanh(inner), one))


def _is_exact(_: Any, x: ir.Value, **optional: ir.Value | None) -> bool:
    return _hold(x, optional, _EXACT)


def _is_tanh(_: Any, x: ir.Value, **optional: ir.Value | None) -> bool:
    return _hold(x, optional, _TANH)


def _hold(x: ir.Value, values: dict[str, ir.Value | None], numbers: dict[str, float]) -> bool:
    return all(values.get(name) is None or holds(values[name], number, x) for name, number in numbers.items())


def _exact(op: Any, x: ir.Value, **_: Any) -> Any:
    return op.Gelu(x)


def _tanh(op: Any, x: ir.Value, **_: Any) -> Any:
    return op.Gelu(x, approximate="tanh")


fuse_gelu: Pass = Rewrite("fuse_gelu", "the error function or tanh form of GELU in one node", _fuse_gelu, opset=20)
