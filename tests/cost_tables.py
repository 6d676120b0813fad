"""Costs of small graphs, and what ``irbench cost`` prints of them."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from written_graphs import graph, ones

from irbench.cost_model.counting import model_cost
from irbench.cost_model.formulas import ModelFormulas, model_formulas
from irbench.features.cost.view import GraphCosts, cost_view
from irbench.spec import TensorSpec

TEXT = (
    "(float[batch, 3, 32, 32] image) => (scores) { [conv] c = Conv <pads = [1, 1, 1, 1]> (image, w, b)"
    "  [relu] r = Relu (c)  [pool] p = GlobalAveragePool (r)  [flat] f = Flatten (p)  [dense] scores = MatMul (f, v) }"
)
WEIGHTS = {"w": ones(64, 3, 3, 3), "b": ones(64), "v": ones(64, 10)}
MODEL = graph(TEXT, **WEIGHTS)
FREE = TensorSpec("image", "float32", ("batch", 3, 32, 32))
_MORE = "(f, v)  best, at = TopK (scores, two)  z = own.Rank (best) }"
LACKING = graph(TEXT.replace("(f, v) }", _MORE), **WEIGHTS, two=np.array([2]))


def at_batch(model, batch):
    inputs = (FREE.bind({"batch": batch}),)
    return GraphCosts("net", model_cost(model, inputs), None, inputs)


def as_formulas(model):
    found = model_formulas(model, (FREE,))
    assert isinstance(found, ModelFormulas)
    return GraphCosts("net", found.example, found, (FREE,))


def shown(costs, width, *, per_node=False):
    console = Console(width=width, no_color=True, color_system=None)
    with console.capture() as capture:
        console.print(cost_view(costs, per_node=per_node), highlight=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
