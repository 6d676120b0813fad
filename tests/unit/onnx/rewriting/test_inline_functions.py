"""Models with functions of their own, and with ONNX's own domain spelled out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from irbench.errors import IrbenchError
from irbench.onnx.reading.check import check_file, spells_own_domain
from irbench.onnx.rewriting.inline_functions import inline_functions

X, Y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")


def saved(path: Path, nodes: list[onnx.NodeProto], imports: dict[str, int], functions=()) -> Path:
    opsets = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    graph = helper.make_graph(nodes, "g", [X], [Y])
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9), path)
    return path


def function(name: str, body: list[onnx.NodeProto], opset: int = 17, attributes=()) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("my", 1)]
    return helper.make_function("my", name, ["a"], ["b"], body, imports, attributes)


def call(name: str, read: str = "x", made: str = "y", **attributes: float) -> onnx.NodeProto:
    return helper.make_node(name, [read], [made], domain="my", **attributes)


def with_function(path: Path) -> Path:
    twice = function("Twice", [helper.make_node("Add", ["a", "a"], ["b"])])
    return saved(path, [call("Twice")], {"my": 1}, [twice])


def with_function_of_an_older_set(path: Path) -> Path:
    twice = function("Twice", [helper.make_node("Add", ["a", "a"], ["b"])], 17)
    return saved(path, [call("Twice")], {"": 20, "my": 1}, [twice])


def with_functions_in_functions(path: Path) -> Path:
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    inner = function("Inner", [leaky], attributes=["slope"])
    steep = helper.make_node("Inner", ["a"], ["t"], domain="my")
    steep.attribute.append(onnx.AttributeProto(name="slope", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    outer = function("Outer", [steep, helper.make_node("Neg", ["t"], ["b"])], attributes=["slope"])
    return saved(path, [call("Outer", slope=0.5)], {"": 17, "my": 1}, [outer, inner])


def with_function_in_a_branch(path: Path) -> Path:
    twice = function("Twice", [helper.make_node("Add", ["a", "a"], ["b"])])
    outputs = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("then", "else")}
    branches = {
        "then_branch": helper.make_graph([call("Twice", "x", "then")], "t", [], [outputs["then"]]),
        "else_branch": helper.make_graph([helper.make_node("Neg", ["x"], ["else"])], "e", [], [outputs["else"]]),
    }
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("yes", TensorProto.BOOL, [], [True])),
        helper.make_node("If", ["yes"], ["y"], **branches),
    ]
    return saved(path, nodes, {"": 17, "my": 1}, [twice])


def spelled_out(path: Path) -> Path:
    branches = {
        name: helper.make_graph([helper.make_node(operation, ["x"], [name], domain="ai.onnx")], name, [], [output])
        for name, operation, output in (
            ("then_branch", "Relu", helper.make_tensor_value_info("then_branch", TensorProto.FLOAT, [2])),
            ("else_branch", "Neg", helper.make_tensor_value_info("else_branch", TensorProto.FLOAT, [2])),
        )
    }
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("yes", TensorProto.BOOL, [], [True])),
        helper.make_node("If", ["yes"], ["y"], domain="ai.onnx", **branches),
    ]
    return saved(path, nodes, {"ai.onnx": 17})


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (with_function, [-2, 4]),
        (with_function_of_an_older_set, [-2, 4]),
        (with_functions_in_functions, [0.5, -2]),
        (with_function_in_a_branch, [-2, 4]),
        (spelled_out, [0, 2]),
    ],
)
def test_the_same_is_computed_without_functions_and_long_names(make, expected, tmp_path: Path):
    path = make(tmp_path / "m.onnx")
    check_file(path, shapes=False)
    content = inline_functions(path)
    assert content is not None
    model = onnx.load_from_string(content)
    assert not model.functions
    assert all(node.domain == "" for node in model.graph.node)
    onnx.checker.check_model(model, full_check=True)
    (found,) = ReferenceEvaluator(model).run(None, {"x": np.array([-1, 2], np.float32)})
    assert found.tolist() == expected


def test_a_function_that_cannot_be_converted_stays_and_others_do_not(tmp_path: Path):
    upsample = [helper.make_node("Upsample", ["a", "scales"], ["b"])]
    scales = helper.make_node("Constant", [], ["scales"], value_floats=[1.0])
    old = function("Old", [scales, *upsample], 9)
    twice = function("Twice", [helper.make_node("Add", ["a", "a"], ["b"])], 20)
    path = saved(tmp_path / "m.onnx", [call("Old", "x", "t"), call("Twice", "t")], {"": 20, "my": 1}, [old, twice])
    content = inline_functions(path)
    assert content is not None
    model = onnx.load_from_string(content)
    assert [entry.name for entry in model.functions] == ["Old"]
    assert [node.op_type for node in model.graph.node] == ["Old", "Add"]


def test_a_usual_model_needs_none_of_it(tmp_path: Path):
    path = saved(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"": 17})
    assert inline_functions(path) is None
    assert not spells_own_domain(path)


def test_a_spelled_out_domain_hides_no_mistake_from_the_checker(tmp_path: Path):
    path = saved(tmp_path / "m.onnx", [helper.make_node("Rleu", ["x"], ["y"], domain="ai.onnx")], {"": 17})
    with pytest.raises(IrbenchError, match="Rleu"):
        check_file(path, shapes=False)
