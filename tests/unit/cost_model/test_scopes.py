"""What nodes in bodies see of the graphs around them."""

from __future__ import annotations

from collections import ChainMap

from onnx import helper

from irbench.cost_model.known_tensors import scope_of


def body(name: str):
    return helper.make_graph([], name, [helper.make_tensor_value_info(name, 1, [2, 3])], [])


def test_a_body_sees_what_is_around_it_without_a_copy() -> None:
    outer = scope_of(body("outer"))
    inner = scope_of(body("inner"), outer)
    innermost = scope_of(body("innermost"), inner)
    assert set(innermost.tensors) == {"outer", "inner", "innermost"}
    assert isinstance(innermost.tensors, ChainMap)
    assert innermost.tensors.maps[-1] is outer.tensors
