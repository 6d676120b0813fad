"""Graphs of matrix products: what they compute, and that every product has work to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from irbench.features.doctor.matrix_chain import MatrixChain, write_matrix_chain
from irbench.onnx.reading.graph_precision import read_precision

SIDE = 48


def feed() -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(1).random((1, SIDE, SIDE), np.float32)}


def test_a_chain_of_floats_multiplies_by_the_same_matrix_again_and_again(tmp_path: Path):
    path = write_matrix_chain(MatrixChain(SIDE, 3), tmp_path)
    (weights,) = onnx.load(path).graph.initializer
    right = onnx.numpy_helper.to_array(weights)
    (found,) = ReferenceEvaluator(str(path)).run(None, feed())
    np.testing.assert_allclose(found, feed()["x"] @ right @ right @ right, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("quantised", [False, True])
def test_values_neither_vanish_nor_grow_along_a_long_chain(tmp_path: Path, quantised: bool):
    path = write_matrix_chain(MatrixChain(SIDE, 16, quantised), tmp_path)
    (found,) = ReferenceEvaluator(str(path)).run(None, feed())
    assert 0.05 < found.std() < 5
    assert np.unique(found).size > 20


def test_a_quantised_chain_has_a_quantiser_on_every_side_of_every_product(tmp_path: Path):
    model = onnx.load(write_matrix_chain(MatrixChain(SIDE, 3, quantised=True), tmp_path))
    onnx.checker.check_model(model, full_check=True)
    made_by = {name: node.op_type for node in model.graph.node for name in node.output}
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    assert len(products) == 3
    for product in products:
        assert [made_by[name] for name in product.input] == ["DequantizeLinear", "DequantizeLinear"]
        readers = [node.op_type for node in model.graph.node if product.output[0] in node.input]
        assert readers == ["QuantizeLinear"]


def test_sums_of_two_products_of_integers_fit_into_sixteen_bits(tmp_path: Path):
    model = onnx.load(write_matrix_chain(MatrixChain(SIDE, 2, quantised=True), tmp_path))
    weights = next(tensor for tensor in model.graph.initializer if tensor.name == "w")
    largest = np.abs(onnx.numpy_helper.to_array(weights).astype(int)).max()
    assert 2 * 255 * largest < 1 << 15


@pytest.mark.parametrize(("quantised", "precision"), [(False, "fp32"), (True, "int8")])
def test_a_file_says_which_precision_it_is_for(tmp_path: Path, quantised: bool, precision: str):
    path = write_matrix_chain(MatrixChain(SIDE, 2, quantised), tmp_path)
    assert read_precision(path).narrowest == precision


def test_a_multiply_accumulate_is_two_operations():
    assert MatrixChain(10, 3).operations == 6000


def test_chains_of_different_content_have_different_names():
    chains = [MatrixChain(side, 2, quantised) for side in (8, 16) for quantised in (False, True)]
    assert len({chain.name for chain in chains}) == 4
