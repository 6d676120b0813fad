"""``irbench cost`` and ``irbench.cost`` through their front doors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import pytest
from front_door import irbench, irbench_here
from written_graphs import graph, ones

import irbench as api

CONVOLUTION, DENSE = 8 * 8 * 8 * 3 * 3 * 3, 8 * 4 * 4 * 5


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def test_a_graph_with_dynamic_dimensions_costs_formulas(model: Path) -> None:
    called = irbench("cost", model)
    assert called.code == 0, called.err
    assert "·batch" in called.out
    assert "For numbers, give sizes: --batch N." in called.out
    document = irbench("cost", model, "--format", "json").document
    assert document["dynamic_dimensions"] == ["batch"]
    assert document["total"]["macs"]["formula"] == f"{CONVOLUTION + DENSE}*batch"
    assert document["total"]["macs"]["terms"] == [
        {"numerator": CONVOLUTION + DENSE, "denominator": 1, "powers": {"batch": 1}}
    ]


def test_with_sizes_costs_are_numbers(model: Path) -> None:
    document = irbench("cost", model, "--batch", 4, "--format", "json").document
    assert document["inputs"] == {"pixels": [4, 3, 8, 8]}
    assert document["total"]["macs"] == 4 * (CONVOLUTION + DENSE)
    assert document["total"]["parameters"] == 869
    assert document["weights_bytes"]["float32"] == 4 * 869
    assert document["nodes"][0]["operator"] == "Conv"
    assert document["uncounted"] == []
    assert sum(row["flops"] for row in document["classes"]) == document["total"]["flops"]
    shaped = irbench("cost", model, "--shape", "pixels=4x3x8x8", "--format", "json").document
    assert shaped["total"] == document["total"]


def test_a_row_for_each_node_is_shown_where_it_is_asked_for(model: Path) -> None:
    assert "node" in irbench("cost", model, "--batch", 1, "--per-node").out
    rows = list(csv.DictReader(irbench("cost", model, "--batch", 1, "--per-node", "--format", "csv").out.splitlines()))
    assert sum(row["scope"] == "node" for row in rows) == 6
    assert irbench("cost", model, "--batch", 1, "--format", "md").out.count("| --- |") == 2


def test_a_document_goes_to_a_file(model: Path, tmp_path: Path) -> None:
    called = irbench("cost", model, "--batch", 1, "--format", "json", "-o", tmp_path / "cost.json")
    assert (called.code, called.out) == (0, "")
    assert json.loads((tmp_path / "cost.json").read_text())["name"] == "mlp"


def test_a_graph_whose_outputs_have_no_shapes_costs_what_it_does_with_them(model: Path) -> None:
    """The standard requires a type of an output, and no shape."""
    known = irbench("cost", model, "--batch", 2, "--format", "json").document["total"]
    changed = onnx.load(model)
    for output in changed.graph.output:
        output.type.tensor_type.ClearField("shape")
    del changed.graph.value_info[:]
    onnx.save(changed, model)
    called = irbench("cost", model, "--batch", 2, "--format", "json")
    assert called.code == 0, called.err
    assert called.document["total"] == known


def test_packed_weights_count_as_the_numbers_that_they_stand_for(tmp_path: Path) -> None:
    packed = graph(
        "(float[2,64] x) => (float[2,16] y) "
        "{ y = com.microsoft.MatMulNBits <K = 64, N = 16, bits = 4, block_size = 32> (x, w, s) }",
        w=np.ones((16, 2, 16), np.uint8), s=ones(16, 2),
    )  # fmt: skip
    onnx.save(packed, tmp_path / "packed.onnx")
    total = irbench("cost", tmp_path / "packed.onnx", "--format", "json").document["total"]
    assert total["parameters"] == 16 * 64 + 32
    assert total["weight_bytes"] == 16 * 64 // 2 + 4 * 32
    assert api.inspect(tmp_path / "packed.onnx").to_dict()["parameters"] == 16 * 64 + 32


def test_one_query_meets_as_many_keys_as_a_shared_buffer_holds(tmp_path: Path) -> None:
    shared = graph(
        "(float[1,1,32] q, float[1,1,16] k, float[1,1,16] v, float[1,2,length,8] pk, float[1,2,length,8] pv, "
        "int32[1] l, int32 t) => (float[1,1,32] y, float[1,2,length,8] ok, float[1,2,length,8] ov) { y, ok, ov = "
        "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, pk, pv, l, t) }"
    )
    onnx.save(shared, tmp_path / "shared.onnx")
    document = irbench("cost", tmp_path / "shared.onnx", "--shape", "length=128", "--format", "json").document
    assert document["total"]["macs"] == 4 * 128 * (8 + 8)


def test_what_cannot_be_counted_is_named(model: Path) -> None:
    changed = onnx.load(model)
    dense = next(node for node in changed.graph.node if node.op_type == "Gemm")
    dense.op_type, dense.domain = "FusedMatMul", "somebody"
    changed.opset_import.append(onnx.helper.make_opsetid("somebody", 1))
    onnx.save(changed, model)
    called = irbench("cost", model, "--batch", 1)
    assert called.code == 0, called.err
    assert "at least" in called.out
    assert "no rule for the operator: somebody.FusedMatMul" in called.out


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("nobody.onnx",), "no file nobody.onnx", "path"),
        (("resnet50",), "not been exported", "irbench export resnet50"),
        (("{model}", "--shape", "pixel=1x3x8x8"), "'pixel'", "Did you mean pixels?"),
        (("{model}", "--shape", "pixels=1x3x8x9"), "9 where the model needs 8", "Write 8 there"),
        (("{model}", "--format", "jsn"), "json", "irbench cost --help"),
    ],
)
def test_what_does_not_fit_is_one_line_and_its_remedy(
    model: Path, arguments: tuple[str, ...], said: str, hint: str
) -> None:
    called = irbench_here("cost", *(str(model) if word == "{model}" else word for word in arguments))
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy


def test_a_damaged_file_is_refused(model: Path) -> None:
    model.write_bytes(model.read_bytes()[:1000])
    called = irbench_here("cost", model)
    assert called.code == 2
    assert called.err.splitlines()[0] == f"error: {model} is not an ONNX model, or is damaged."


def test_a_file_that_onnx_cannot_infer_is_refused(tmp_path: Path) -> None:
    model = graph("(float[n,3] x) => (float[n,5] y) { z = own.Foo (x)  y = MatMul (z, w) }", w=ones(3, 5))
    del model.opset_import[-1]
    onnx.save(model, tmp_path / "lacking.onnx")
    for sizes in ((), ("--batch", 1)):
        called = irbench_here("cost", tmp_path / "lacking.onnx", *sizes)
        assert called.code == 2
        problem, remedy = called.err.splitlines()
        assert problem.startswith(f"error: ONNX cannot infer the shapes of {tmp_path / 'lacking.onnx'}: ")
        assert remedy.startswith("hint: Check it with onnx.checker")


def test_a_cost_that_is_no_polynomial_is_refused_with_a_way_out(tmp_path: Path) -> None:
    model = graph(
        "(float[n] x) => (float[m] y) { s = Shape (x)  t = Mul (s, s)  u = Mul (t, t)  v = Mul (u, s)"
        "  e = Expand (b, v)  y = Relu (e) }",
        b=ones(1),
    )
    onnx.save(model, tmp_path / "power.onnx")
    called = irbench_here("cost", tmp_path / "power.onnx")
    assert called.code == 2
    assert called.err.splitlines() == [
        "error: The cost of power is not a polynomial in batch.", "hint: Give sizes: --batch 1",
    ]  # fmt: skip
    assert irbench("cost", tmp_path / "power.onnx", "--batch", 2).code == 0


def test_python_has_typed_rows_and_frames(model: Path) -> None:
    found = api.cost(model, batch=2)
    assert found.total.macs == 2 * (CONVOLUTION + DENSE)
    assert {row.name for row in found.rows("class")} >= {"matrix", "elementwise"}
    assert found.cost.nodes[0].operator == "Conv"
    frame = found.to_pandas("node")
    assert int(frame["macs"].sum()) == found.total.macs
    assert str(frame["flops"].dtype) == "Int64"
    assert "Conv" in str(found)


def test_sizes_between_those_that_formulas_hold_for_are_counted(tmp_path: Path) -> None:
    halving = graph(
        "(float[1, 3, h, 224] x) => (float[1, 4, i, 56] y) { a = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, k)"
        "  y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (a, l) }",
        k=ones(4, 3, 3, 3), l=ones(4, 4, 3, 3),
    )  # fmt: skip
    onnx.save(halving, tmp_path / "halving.onnx")
    found = api.cost(tmp_path / "halving.onnx")
    assert found.formulas is not None
    assert found.formulas.multiple_of == 32
    assert found.at(h=225) == api.cost(tmp_path / "halving.onnx", shape={"h": 225}).total
    assert found.at(h=224).macs == 224 // 2 * 112 * 4 * 27 + 224 // 4 * 56 * 4 * 36


@pytest.mark.parametrize("size", [0, -1, 1.5, "many", None])
def test_formulas_take_no_size_that_is_no_count(model: Path, size: Any) -> None:
    with pytest.raises(api.IrbenchError, match="batch"):
        api.cost(model).at(batch=size)


def test_formulas_are_evaluated_in_python(model: Path) -> None:
    found = api.cost(model)
    assert found.formulas is not None
    assert found.at(batch=2) == api.cost(model, batch=2).total
    assert found.to_pandas("class")["macs"][0] == f"{CONVOLUTION + DENSE}*batch"
    with pytest.raises(api.IrbenchError, match="need a size of each of: batch"):
        found.at(length=3)
    with pytest.raises(api.IrbenchError, match="no rows by 'nodes'") as caught:
        found.rows("nodes")  # type: ignore[arg-type]
    assert "Did you mean node?" in caught.value.hint
    with pytest.raises(api.IrbenchError, match="There is no form 'xml'"):
        found.to_text("xml")  # type: ignore[arg-type]
    assert found.rows() == found.rows("op")
