"""Fuse a bias with the GELU behind it, for runtimes that read Microsoft's operators.

1. Gelu(x + bias)                          -> BiasGelu(x, bias)
2. Gelu(x + bias), approximate="tanh"      -> FastGelu(x, bias)

The bias is a constant with one axis, the last of x, which is float32 or float16.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from irbench.onnx.shapes import infer
from irbench.optimizer.pass_tools.edit import weight
from irbench.optimizer.pass_tools.microsoft import MICROSOFT, is_read, is_row
from irbench.optimizer.pass_tools.rules import ANY, ORDERS, Rule, apply_rules
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _fuse_bias_gelu(model: ir.Model) -> bool:
    infer(model)
    return apply_rules(model, [Rule(partial(_shifted, pair), _fused, _fits) for pair in ORDERS])


def _shifted(pair: Any, op: Any, x: Any, bias: Any) -> Any:
    return op.Gelu(op.Add(*pair(x, bias)), _outputs=["result"], **ANY)


def _fits(_: Any, x: ir.Value, bias: ir.Value, **__: Any) -> bool:
    return is_read(x) and weight(bias) is not None and is_row(bias, x)


def _fused(op: Any, x: ir.Value, bias: ir.Value, result: ir.Value) -> Any:
    node = result.producer()
    assert node is not None
    if node.attributes.get_string("approximate", "none") == "tanh":
        return op.FastGelu(x, bias, _domain=MICROSOFT)
    return op.BiasGelu(x, bias, _domain=MICROSOFT)


fuse_bias_gelu: Pass = Rewrite(
    "fuse_bias_gelu", "a bias and its GELU in one of Microsoft's operators", _fuse_bias_gelu, opset=20, vendor=MICROSOFT
)
