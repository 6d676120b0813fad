"""A chain of equal layers, and passes of the optimiser that append more of them.

1. n layers    -> the same n layers, in a file of their own
2. n layers    -> n + n / 20 layers: 1.05 times the work
3. n layers    -> 2 n layers: twice the work
4. 100 layers  -> 101, 102, 103 and 110 layers

A layer is ``x + relu(x @ w)``, with weights of its own that no other layer has. A product of (512, 128) and (128, 128)
keeps two threads busy for a tenth of a millisecond and more, while a runtime's pool of threads meets at each operator,
as it does in models that people run. No runtime can join two layers, for a relu and a sum lie between their products;
none can leave one out, for its weights are not zero. They are so small that 80 layers change an answer by less than
1e-4 of its size, so that graphs of every length pass the verification of fp32 against one reference.

The weights of 40 to 80 layers take 2.5 to 5 MiB: with many times that, the longest graph would no longer fit into a
cache that holds the shortest, and time would not be linear in layers.

What a call costs besides its layers is the same for every length: the call itself, and 256 KiB copied in and out. A
share c of it in the call of the shortest graph makes the true ratios 1.05 - 0.05 c and 2 - c. A share of 1 % would
therefore show as 1.99 where 2.00 is expected, and leave 1.05 right to 0.05 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import onnx_ir as ir

from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

LAYERS = 40
"""Of the shortest graph."""
MANY_LAYERS = 100
"""Of the shortest graph of those that differ by a few per cent. Their weights take 6 to 7 MiB."""
PROGRAM = ("python", "-m", "benchmarks.real_work")
"""Runs irbench with the levels below."""
SHARES: Mapping[str, float] = {
    "same": 0.0,
    "longer-1": 0.01,
    "longer-2": 0.02,
    "longer-3": 0.03,
    "longer": 0.05,
    "longer-10": 0.1,
    "twice": 1.0,
}
"""How many layers each level appends, as a share of those that there are."""
RATIOS: Mapping[str, float] = {level: 1 + share for level, share in SHARES.items()}
"""How many times as fast as each level the shortest graph truly is."""

_ROWS, _WIDTH = 512, 128
_WEIGHT = 1e-6
_OPSET, _IR_VERSION = 17, 8


def write_model(path: Path, layers: int = LAYERS) -> Path:
    """Write the shortest graph, float32 ``x`` to ``y`` of shape (1, 512, 128), and return its path."""
    x = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=_shape())
    graph = ir.Graph([x], [], nodes=[], opset_imports={"": _OPSET}, name="layers")
    graph.outputs.append(_append(graph, x, first=0, count=layers))
    graph.outputs[0].name = "y"
    ir.save(ir.Model(graph, ir_version=_IR_VERSION), path)
    return path


def _lengthen(model: ir.Model, share: float) -> bool:
    """Rules 1 to 4."""
    graph = model.graph
    held = sum(node.op_type == "MatMul" for node in graph)
    (old,) = graph.outputs
    name, old.name = old.name, f"layer{held - 1}"
    new = _append(graph, old, first=held, count=round(held * share))
    new.name = name
    graph.outputs[0] = new
    return True


def _append(graph: ir.Graph, x: ir.Value, first: int, count: int) -> ir.Value:
    """Append layers, numbered from ``first`` on, and return the output of the last."""
    for number in range(first, first + count):
        x = _layer(graph, x, number)
    return x


def _layer(graph: ir.Graph, x: ir.Value, number: int) -> ir.Value:
    """Append a layer, whose number decides its weights, and return its output."""
    drawn = np.random.default_rng(number).standard_normal((_WIDTH, _WIDTH)) * _WEIGHT / np.sqrt(_WIDTH)
    name = f"weights{number}"
    weights = ir.Value(name=name, const_value=ir.tensor(drawn.astype(np.float32), name=name))
    weights.shape, weights.dtype = ir.Shape(drawn.shape), ir.DataType.FLOAT
    graph.register_initializer(weights)
    product = _node(graph, "MatMul", (x, weights), f"product{number}")
    positive = _node(graph, "Relu", (product,), f"positive{number}")
    return _node(graph, "Add", (x, positive), f"layer{number}")


def _node(graph: ir.Graph, operation: str, inputs: tuple[ir.Value, ...], name: str) -> ir.Value:
    output = ir.Value(name=name, type=ir.TensorType(ir.DataType.FLOAT), shape=_shape())
    graph.append(ir.node(operation, inputs, outputs=[output], name=f"node_{name}"))
    return output


def _shape() -> ir.Shape:
    return ir.Shape((1, _ROWS, _WIDTH))


same: Pass = Rewrite("add_none", "the layers as they are", partial(_lengthen, share=SHARES["same"]))
one_percent: Pass = Rewrite("add_1_percent", "1 % more layers", partial(_lengthen, share=SHARES["longer-1"]))
two_percent: Pass = Rewrite("add_2_percent", "2 % more layers", partial(_lengthen, share=SHARES["longer-2"]))
three_percent: Pass = Rewrite("add_3_percent", "3 % more layers", partial(_lengthen, share=SHARES["longer-3"]))
ten_percent: Pass = Rewrite("add_10_percent", "a tenth more layers", partial(_lengthen, share=SHARES["longer-10"]))
longer: Pass = Rewrite("add_a_twentieth", "a twentieth more layers", partial(_lengthen, share=SHARES["longer"]))
twice: Pass = Rewrite("add_as_many", "as many layers again", partial(_lengthen, share=SHARES["twice"]))
