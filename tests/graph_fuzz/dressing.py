"""Hides a graph: in branches, bodies and functions, behind other readers and names, with and without known shapes."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import onnx
from onnx import TensorProto, helper, version_converter

from .building import BOOL, INT64, NOMINAL
from .choices import Choices
from .element_types import retype

_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def dress(model: onnx.ModelProto, choices: Choices, name: str) -> onnx.ModelProto:
    """Return a copy of a model, hidden in one of the ways of :data:`DRESSINGS`."""
    dressed = copy.deepcopy(model)
    DRESSINGS[name](dressed, choices)
    return dressed


def _moved(graph: onnx.GraphProto, choices: Choices) -> list[onnx.NodeProto]:
    """Take the last nodes out of a graph, from the first of them on that computes one of its outputs or before."""
    nodes = list(graph.node)
    makers = {name: place for place, node in enumerate(nodes) for name in node.output}
    start = choices.any_of(0, 0, *range(len(nodes)))
    start = min([start, *(makers.get(output.name, 0) for output in graph.output)])
    moved = nodes[start:]
    del graph.node[start:]
    return moved


def _renamed(nodes: Iterable[onnx.NodeProto], names: Mapping[str, str]) -> list[onnx.NodeProto]:
    """Return copies of nodes with other names of values, those of bodies that read them included."""
    copies = [copy.deepcopy(node) for node in nodes]
    for node in copies:
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)
        for place, name in enumerate(node.output):
            node.output[place] = names.get(name, name)
        for graph in _bodies(node):
            inner = _renamed(graph.node, names)
            del graph.node[:]
            graph.node.extend(inner)
            for value in (*graph.output, *graph.input, *graph.initializer):
                value.name = names.get(value.name, value.name)
    return copies


def _bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def _every_output(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    found = []
    for node in nodes:
        found += [name for name in node.output if name]
        for graph in _bodies(node):
            found += [value.name for value in (*graph.input, *graph.initializer)] + _every_output(graph.node)
    return found


def _inside(nodes: list[onnx.NodeProto], prefix: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """Return copies of nodes whose results have names of their own."""
    names = {name: f"{prefix}_{place}" for place, name in enumerate(_every_output(nodes))}
    return _renamed(nodes, names), names


def _body(
    name: str, nodes: list[onnx.NodeProto], outputs: Iterable[tuple[str, int]], inputs: Iterable[Any] = ()
) -> onnx.GraphProto:
    described = [helper.make_tensor_value_info(output, dtype, None) for output, dtype in outputs]
    return helper.make_graph(nodes, name, list(inputs), described)


def _in_a_branch(model: onnx.ModelProto, choices: Choices) -> None:
    """One branch computes the outputs, the other what is opposite to them."""
    graph = model.graph
    moved = _moved(graph, choices)
    outputs = [output for output in graph.output if output.name in _every_output(moved)]
    branches = []
    for prefix, turned in (("val", False), ("other", True)):
        nodes, names = _inside(moved, prefix)
        results = [(names[output.name], output.type.tensor_type.elem_type) for output in outputs]
        if turned:
            nodes += [_opposite(name, dtype) for name, dtype in results]
            results = [(f"{name}_turned", dtype) for name, dtype in results]
        branches.append(_body(prefix, nodes, results))
    first, second = choices.in_any_order(branches)
    graph.input.append(helper.make_tensor_value_info("flag_dressed", BOOL, []))
    made = [output.name for output in outputs]
    graph.node.append(helper.make_node("If", ["flag_dressed"], made, "dressed", then_branch=first, else_branch=second))


def _opposite(name: str, dtype: int) -> onnx.NodeProto:
    operation = "Neg" if dtype in (*_FLOATS, INT64) else "Not" if dtype == BOOL else "Identity"
    return helper.make_node(operation, [name], [f"{name}_turned"], f"{name}_turned")


def _in_a_loop(model: onnx.ModelProto, choices: Choices) -> None:
    """Each turn computes the outputs anew, which are stacked."""
    graph = model.graph
    moved = _moved(graph, choices)
    outputs = [output for output in graph.output if output.name in _every_output(moved)]
    nodes, names = _inside(moved, "val")
    nodes.append(helper.make_node("Identity", ["go"], ["go_on"], "go_on"))
    results = [("go_on", BOOL), *((names[output.name], output.type.tensor_type.elem_type) for output in outputs)]
    described = [helper.make_tensor_value_info("turn", INT64, []), helper.make_tensor_value_info("go", BOOL, [])]
    body = _body("turns", nodes, results, described)
    graph.input.append(helper.make_tensor_value_info("trips_dressed", INT64, []))
    made = [output.name for output in outputs]
    graph.node.append(helper.make_node("Loop", ["trips_dressed", ""], made, "dressed", body=body))
    for output in outputs:
        output.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension())


def _in_a_scan(model: onnx.ModelProto, choices: Choices) -> None:
    """Each step takes a slice of one input."""
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    fed = [value for value in graph.input if value.name not in weights]
    moved = list(graph.node)
    outputs = [output for output in graph.output if output.name in _every_output(moved)]
    if len(outputs) < len(graph.output):
        return
    del graph.node[:]
    sliced = choices.any_of(*fed)
    nodes, names = _inside(_renamed(moved, {sliced.name: "slice"}), "val")
    step = helper.make_tensor_value_info("slice", sliced.type.tensor_type.elem_type, None)
    results = [(names[output.name], output.type.tensor_type.elem_type) for output in outputs]
    body = _body("steps", nodes, results, [step])
    made = [output.name for output in outputs]
    graph.node.append(helper.make_node("Scan", [sliced.name], made, "dressed", body=body, num_scan_inputs=1))
    sliced.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension(dim_param="steps"))
    for output in outputs:
        output.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension())


def _in_a_function(model: onnx.ModelProto, choices: Choices) -> None:
    """A function of the model computes the outputs; its weights are constants in it, or given to it."""
    graph = model.graph
    moved = _moved(graph, choices)
    outputs = [output.name for output in graph.output if output.name in _every_output(moved)]
    weights = {tensor.name: tensor for tensor in graph.initializer} if choices.likely(0.6) else {}
    fed = {value.name for value in graph.input}
    nodes, names = _inside(moved, "val")
    read = sorted(_read_outside(nodes))
    constants = [
        helper.make_node("Constant", [], [name], name, value=weights[name])
        for name in read
        if name in weights and name not in fed
    ]
    given = [name for name in read if name not in {node.output[0] for node in constants}]
    imports = [entry for entry in model.opset_import if entry.domain != "local"]
    results = [names[name] for name in outputs]
    function = helper.make_function("local", "dressed", given, results, [*constants, *nodes], imports)
    model.functions.append(function)
    if all(entry.domain != "local" for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid("local", 1))
    model.ir_version = max(model.ir_version, 8)
    graph.node.append(helper.make_node("dressed", given, outputs, "dressed", domain="local"))


def _read_outside(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    nodes = list(nodes)
    read = {name for node in nodes for name in node.input if name}
    for node in nodes:
        for graph in _bodies(node):
            read |= _read_outside(graph.node) | {output.name for output in graph.output}
    return read - set(_every_output(nodes))


def _with_other_readers(model: onnx.ModelProto, choices: Choices) -> None:
    """An interior value is an output too, or read by another node, or in a branch."""
    typed = {value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.value_info}
    typed = {name: value for name, value in typed.items() if value.type.tensor_type.HasField("shape")}
    if not typed:
        return
    value = choices.any_of(*(typed[name] for name in sorted(typed)))
    dtype, graph = value.type.tensor_type.elem_type, model.graph
    if choices.likely(0.4):
        graph.output.append(copy.deepcopy(value))
        return
    described = copy.deepcopy(value)
    described.name = f"{value.name}_read"
    if choices.likely(0.5):
        node = _opposite(value.name, dtype)
        node.output[0] = described.name
    else:
        graph.input.append(helper.make_tensor_value_info("flag_read", BOOL, []))
        bodies: dict[str, Any] = {
            f"{name}_branch": _body(
                name, [helper.make_node("Identity", [value.name], [f"{name}_read"])], [(f"{name}_read", dtype)]
            )
            for name in ("then", "else")
        }
        node = helper.make_node("If", ["flag_read"], [described.name], described.name, **bodies)
    graph.node.append(node)
    graph.output.append(described)


def _with_names_of_exporters(model: onnx.ModelProto, choices: Choices) -> None:
    """Values are numbered as PyTorch's exporter does, inputs and outputs apart."""
    graph = model.graph
    kept = {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    inner = [name for name in _every_output(graph.node) if name not in kept]
    names = {name: f"val_{place}" for place, name in enumerate(choices.in_any_order(inner))}
    nodes = _renamed(graph.node, names)
    del graph.node[:]
    graph.node.extend(nodes)


def _with_known_shapes(model: onnx.ModelProto, choices: Choices) -> None:
    """The file states the shapes of interior values, as far as ONNX knows them."""
    inferred = onnx.shape_inference.infer_shapes(model)
    model.graph.value_info.extend(inferred.graph.value_info)


def _with_fixed_sizes(model: onnx.ModelProto, choices: Choices) -> None:
    """Every dynamic dimension has its nominal size."""
    _change_sizes(model, lambda name: NOMINAL.get(name))


def _with_unnamed_sizes(model: onnx.ModelProto, choices: Choices) -> None:
    """No dynamic dimension has a name."""
    _change_sizes(model, lambda name: None)


def _change_sizes(model: onnx.ModelProto, size: Callable[[str], int | None]) -> None:
    del model.graph.value_info[:]
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                number = size(dim.dim_param)
                dim.Clear()
                if number is not None:
                    dim.dim_value = number


def _with_the_long_domain(model: onnx.ModelProto, choices: Choices) -> None:
    """ONNX's own operator set is spelled out."""
    for entry in model.opset_import:
        entry.domain = entry.domain or "ai.onnx"


def _at_another_operator_set(model: onnx.ModelProto, choices: Choices) -> None:
    """ONNX's converter moved the graph, up or down; it stays as it is where that fails, or would lose functions."""
    if model.functions:
        return
    with contextlib.suppress(RuntimeError, version_converter.ConvertError):
        model.CopyFrom(version_converter.convert_version(model, choices.any_of(*_CONVERTED_TO)))


def _in_bfloat16(model: onnx.ModelProto, choices: Choices) -> None:
    """Floats are bf16, as models that were trained in it have them; they stay fp32 where ONNX does not allow it."""
    narrow = copy.deepcopy(model)
    retype(narrow, TensorProto.FLOAT, TensorProto.BFLOAT16)
    with contextlib.suppress(onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        onnx.checker.check_model(narrow, full_check=True)
        model.CopyFrom(narrow)


_CONVERTED_TO = (13, 17, 21, 23)


DRESSINGS: Mapping[str, Callable[[onnx.ModelProto, Choices], None]] = {
    "in a branch": _in_a_branch,
    "in a loop": _in_a_loop,
    "in a scan": _in_a_scan,
    "in a function": _in_a_function,
    "with other readers": _with_other_readers,
    "with names of exporters": _with_names_of_exporters,
    "with known shapes": _with_known_shapes,
    "with fixed sizes": _with_fixed_sizes,
    "with unnamed sizes": _with_unnamed_sizes,
    "with the long domain": _with_the_long_domain,
    "at another operator set": _at_another_operator_set,
    "in bfloat16": _in_bfloat16,
}
"""What can be done to a graph, by name."""
