"""Makes a graph that fails smaller, as long as it fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import onnx
from onnx import TensorProto, helper

from .judging import Judge, Unusable
from .routes import Outcome, Route, travel

_MOST_TRIALS = 150


def fails_alike(content: bytes, route: Route, outcome: Outcome) -> Outcome | None:
    """Return how a graph fails on a route, if it does in the same step and kind as another one."""
    try:
        found = [other for other in travel(Judge(content), route, _runtimes(outcome)) if other.is_failure]
    except Unusable:
        return None
    except Exception:  # noqa: BLE001 - a graph that was cut badly, not one that a pass handles badly
        return None
    same = [other for other in found if (other.step, other.kind) == (outcome.step, outcome.kind)]
    return (
        same[0] if (same and same[0].reason[:12] == outcome.reason[:12]) or (same and outcome.kind != "crash") else None
    )


def _runtimes(outcome: Outcome) -> tuple[str, ...]:
    return (outcome.step,) if outcome.step in ("ort", "openvino") else ()


def shrink(content: bytes, route: Route, outcome: Outcome) -> tuple[bytes, Route, Outcome]:
    """Return the smallest graph, shortest route and the failure that were found."""
    alone = Route(f"pass {outcome.step}", (outcome.step,))
    if route.conversion:
        alone = Route(route.name, (), route.conversion)
    if outcome.before and (outcome.step in route.passes or route.conversion):
        for start in (content, outcome.before):
            found = fails_alike(start, alone, outcome)
            if found is not None:
                content, route, outcome = start, alone, found
                break
    trials = 0
    changed = True
    while changed and trials < _MOST_TRIALS:
        changed = False
        for smaller in _smaller(onnx.load_from_string(content)):
            trials += 1
            found = fails_alike(smaller, route, outcome)
            if found is not None:
                content, outcome, changed = smaller, found, True
                break
            if trials >= _MOST_TRIALS:
                break
    return content, route, outcome


def _smaller(model: onnx.ModelProto) -> Iterator[bytes]:
    """Yield smaller graphs, those first that lose most."""
    for change in (_without_outputs, _inlined, _cut, _bypassed, _bypassed_in_bodies, _simplified):
        for smaller in change(model):
            _drop_unread(smaller)
            try:
                onnx.checker.check_model(smaller)
            except Exception:  # noqa: BLE001 - it was cut badly
                continue
            content = smaller.SerializeToString()
            if content != model.SerializeToString():
                yield content


def _without_outputs(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    for place in range(len(model.graph.output)):
        if len(model.graph.output) > 1:
            smaller = copy.deepcopy(model)
            del smaller.graph.output[place]
            yield smaller
    types = _types(model)
    outputs = [output.name for output in model.graph.output]
    for node in reversed(model.graph.node):
        for name in node.output:
            if name in types and name not in outputs:
                smaller = copy.deepcopy(model)
                del smaller.graph.output[:]
                smaller.graph.output.append(types[name])
                yield smaller


def _inlined(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    if model.functions:
        try:
            yield onnx.inliner.inline_local_functions(model)
        except Exception:  # noqa: BLE001 - a function that cannot be written out stays
            return
    for place, node in enumerate(model.graph.node):
        if node.op_type != "If":
            continue
        for attribute in node.attribute:
            smaller = copy.deepcopy(model)
            nodes = [copy.deepcopy(inner) for inner in attribute.g.node]
            pairs = zip(attribute.g.output, node.output, strict=True)
            nodes += [helper.make_node("Identity", [inner.name], [outer]) for inner, outer in pairs]
            rest = list(smaller.graph.node)
            del smaller.graph.node[:]
            smaller.graph.node.extend([*rest[:place], *nodes, *rest[place + 1 :]])
            smaller.graph.initializer.extend(attribute.g.initializer)
            yield smaller


def _cut(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Turn what a node computes into an input, with the nodes before it gone."""
    types = _types(model)
    outputs = {output.name for output in model.graph.output}
    for place in reversed(range(len(model.graph.node))):
        node = model.graph.node[place]
        names = [name for name in node.output if name]
        if outputs.intersection(names) or any(name not in types for name in names):
            continue
        smaller = copy.deepcopy(model)
        del smaller.graph.node[place]
        for name in names:
            value = copy.deepcopy(types[name])
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param.startswith("unk__"):
                    dim.Clear()
            smaller.graph.input.append(value)
        yield smaller


def _bypassed(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Let the readers of a node read one of its inputs of the same type."""
    types = _types(model)
    for place, node in enumerate(model.graph.node):
        for name in node.input:
            one = types.get(node.output[0])
            if one is None or name not in types or types[name].type != one.type:
                continue
            smaller = copy.deepcopy(model)
            replacement = helper.make_node("Identity", [name], [node.output[0]])
            if node.op_type == "Identity":
                continue
            smaller.graph.node[place].CopyFrom(replacement)
            yield smaller


def _bypassed_in_bodies(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Do so in bodies, where types are not known."""
    for graph_place, node in enumerate(model.graph.node):
        for attribute_place, attribute in enumerate(node.attribute):
            if not attribute.HasField("g"):
                continue
            for inner in range(len(attribute.g.node)):
                for name in attribute.g.node[inner].input:
                    smaller = copy.deepcopy(model)
                    body = smaller.graph.node[graph_place].attribute[attribute_place].g
                    if body.node[inner].op_type != "Identity" and len(body.node[inner].output) == 1:
                        body.node[inner].CopyFrom(helper.make_node("Identity", [name], [body.node[inner].output[0]]))
                        yield smaller


def _simplified(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Give dynamic dimensions sizes, drop stated shapes, omit optional inputs."""
    from .building import NOMINAL

    if model.graph.value_info:
        smaller = copy.deepcopy(model)
        del smaller.graph.value_info[:]
        yield smaller
    smaller = copy.deepcopy(model)
    for value in (*smaller.graph.input, *smaller.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in NOMINAL:
                dim.dim_value = NOMINAL[dim.dim_param]
    yield smaller
    for place, node in enumerate(model.graph.node):
        if node.op_type == "Identity":
            smaller = copy.deepcopy(model)
            source, target = node.input[0], node.output[0]
            if target in {output.name for output in model.graph.output}:
                continue
            del smaller.graph.node[place]
            _rename_reads(smaller.graph, target, source)
            yield smaller


def _rename_reads(graph: onnx.GraphProto, old: str, new: str) -> None:
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name == old:
                node.input[place] = new
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename_reads(attribute.g, old, new)


def _types(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # noqa: BLE001 - then only what the file states is known
        graph = model.graph
    known = {value.name: value for value in (*graph.value_info, *graph.input, *graph.output)}
    return {name: value for name, value in known.items() if _is_tensor(value)}


def _is_tensor(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return tensor.elem_type != TensorProto.UNDEFINED and tensor.HasField("shape")


def _drop_unread(model: onnx.ModelProto) -> None:
    """Remove nodes, weights and inputs that no output needs."""
    graph = model.graph
    wanted = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted |= _reads(node)
    kept = [copy.deepcopy(node) for node in reversed(kept)]
    del graph.node[:]
    graph.node.extend(kept)
    for values in (graph.initializer, graph.input):
        for place in reversed(range(len(values))):
            if values[place].name not in wanted:
                del values[place]
    called = {(node.domain, node.op_type) for node in graph.node}
    for place in reversed(range(len(model.functions))):
        if (model.functions[place].domain, model.functions[place].name) not in called:
            del model.functions[place]


def _reads(node: onnx.NodeProto) -> set[str]:
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found |= {output.name for output in attribute.g.output}
            for inner in attribute.g.node:
                found |= _reads(inner)
    return found
