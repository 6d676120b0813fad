"""Dynamic dimensions may have any name, digits too, and any size, zero too."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from combinations import each_once
from graphs import answered, graph, random

from irbench.optimizer.passes.einsum_to_matmul import einsum_to_matmul
from irbench.optimizer.passes.fold_shapes import fold_shapes
from irbench.optimizer.passes.lift_reshapes import lift_reshapes
from irbench.optimizer.passes.remove_redundant import remove_redundant

PASSES = (fold_shapes, remove_redundant, einsum_to_matmul, lift_reshapes)
NUMBERS = {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "four": np.array([4])}
NUMBERS |= {"eight": np.array([8]), "heads": np.array([0, 0, 2, 4]), "joined": np.array([0, 0, 8]), "w": random(8, 8)}
SIZES = "s = Shape (x)  b = Gather (s, zero)  l = Gather (s, one)"
SWAP = "Transpose <perm: ints = [0, 2, 1, 3]>"
BODIES = {
    "a split of a dynamic axis": f"""
        {SIZES}  d = Mul (l, two)  t = Concat <axis: int = 0> (b, d, four)  y = Reshape (x, t)""",
    "two dynamic axes that are merged": f"""
        {SIZES}  d = Mul (b, l)  t = Concat <axis: int = 0> (d, eight)  y = Reshape (x, t)""",
    "two dynamic axes that change places": f"""
        {SIZES}  u = Transpose <perm: ints = [1, 0, 2]> (x)  d = Mul (b, two)  t = Concat <axis: int = 0> (l, d, four)
        y = Reshape (u, t)""",
    "heads": f"h = Reshape (x, heads)  a = {SWAP} (h)  r = Relu (a)  c = {SWAP} (r)  y = Reshape (c, joined)",
    "a product of rows": f"""
        {SIZES}  d = Mul (b, l)  t = Concat <axis: int = 0> (d, eight)  f = Reshape (x, t)  p = MatMul (f, w)
        back = Concat <axis: int = 0> (b, l, eight)  y = Reshape (p, back)""",
    "a sum of products": 'y = Einsum <equation: string = "blk,kn->bln"> (x, w)',
    "products of a batch": 'y = Einsum <equation: string = "blk,bmk->blm"> (x, x)',
}

CRASHING = {"products of a batch"}
"""Einsum of ONNX Runtime 1.31 divides by a batch of 0, which ends the process."""


def optimised(body: str, *names: str) -> tuple[ir.Model, ir.Model]:
    """Return a graph of (batch, length, 8), and the same after the passes."""
    models = []
    for _ in range(2):
        model = graph(f"(float[batch,length,8] x) => (float y) {{ {body} }}", NUMBERS, 18)
        if names:
            model.graph.inputs[0].shape = ir.Shape([*names, 8])
        models.append(model)
    for graph_pass in PASSES:
        graph_pass(models[1])
    return models[0], models[1]


@pytest.mark.parametrize("sizes", [(0, 3), (1, 3), (2, 3)])
@pytest.mark.parametrize("case", [case for case in BODIES if case not in CRASHING])
def test_the_optimised_graph_answers_for_every_batch(case, sizes):
    original, made = optimised(BODIES[case])
    feed = {"x": random(*sizes, 8)}
    for after, expected in zip(answered(made, feed), answered(original, feed), strict=True):
        assert after.shape == expected.shape
        np.testing.assert_allclose(after, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "names"), each_once(BODIES, [("2", "3"), ("7", "7"), ("0", "1"), ("2*3", "1")]), ids=list(BODIES)
)
def test_a_dimension_whose_name_is_a_number_has_any_size(case, names):
    sizes = (5, 5) if names[0] == names[1] else (4, 5)
    original, made = optimised(BODIES[case], *names)
    feed = {"x": random(*sizes, 8)}
    for after, expected in zip(answered(made, feed), answered(original, feed), strict=True):
        assert after.shape == expected.shape
        np.testing.assert_allclose(after, expected, atol=1e-5)
