"""Check whether an ONNX file is valid. ONNX's own code parses the file: call this in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError, first_line
from irbench.onnx.contributed.own_domain import MICROSOFT, is_contributed
from irbench.onnx.reading import external_data, signature
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.protobuf import DAMAGED, Field, GraphField, Model, Node, fields, mapped, text
from irbench.onnx.reading.signature import Signature
from irbench.system.installation import pip_command

if TYPE_CHECKING:
    import onnx

    from irbench.onnx.reading.random_draws import RandomDraws

SPELLED_OUT, _SHORT = "ai.onnx", ""


def spells_own_domain(path: Path) -> bool:
    """Return whether a node of the graph names the domain; nodes in bodies of others follow the same exporter."""
    with mapped(path) as data:
        graphs = [field for field in fields(data) if field.number == Model.GRAPH]
        nodes = (node for graph in graphs for node in _inside(data, graph) if node.number == GraphField.NODE)
        parts = (part for node in nodes for part in _inside(data, node) if part.number == Node.DOMAIN)
        return any(text(data, part) == SPELLED_OUT for part in parts)


def shorten_own_domain(model: onnx.ModelProto) -> None:
    """Give nodes, functions and imports the short name, in place."""
    _shorten(model.opset_import)
    _shorten_nodes(model.graph.node)
    for function in model.functions:
        _shorten(function.opset_import)
        _shorten_nodes(function.node)


def _shorten_nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        _shorten([node])
        for attribute in node.attribute:
            for graph in external_data.graphs_in(attribute):
                _shorten_nodes(graph.node)


def _shorten(named: Iterable[onnx.NodeProto | onnx.OperatorSetIdProto]) -> None:
    for message in named:
        if message.domain == SPELLED_OUT:
            message.domain = _SHORT


def _inside(data: memoryview, outer: Field) -> Iterator[Field]:
    return fields(data, outer.start, outer.end)


_LONGEST_REASON = 200


def examine(path: Path) -> tuple[Signature, int, RandomDraws, tuple[int | None, ...] | None]:
    """Check a file of unknown origin.

    Returns:
        Its signature; how many bytes of its weights lie in other files; what draws random numbers; and along
        which axes outputs hold scores of classes, as :attr:`irbench.spec.Bundle.class_axes` says.
    """
    # these import NumPy, and backends import this module to be listed
    from irbench.onnx.reading.class_scores import class_scores_of_file, known_class_axes
    from irbench.onnx.reading.random_draws import draws_of_file

    read = signature.read(path)
    _refuse_future_opset(path, read.opset)
    outside_bytes = external_data.require_sound(path)
    check_file(path, shapes=False)
    return read, outside_bytes, draws_of_file(path), known_class_axes(class_scores_of_file(path))


def check_file(path: Path, shapes: bool) -> None:
    """Run ONNX's checker over a file.

    Args:
        path: The file; :func:`irbench.onnx.reading.external_data.require_sound` has accepted its external data.
        shapes: Whether to infer every shape in the graph too, strictly. Files from elsewhere may hold
            operations of a runtime's own, whose shapes nobody else knows.
    """
    from onnx import checker

    try:
        checker.check_model(_checkable(path) or str(path), full_check=shapes)
    except MemoryError:
        raise
    except Exception as error:
        _explain(path)
        raise IrbenchError(
            f"{path} is not a valid ONNX model: {first_line(error)[:_LONGEST_REASON]}",
            hint=f"Export it again. For the full message: check-model {quote(str(path))}",
        ) from error


def _checkable(path: Path) -> onnx.ModelProto | None:
    """Return a form of the model that the checker understands; ``None`` where it understands the file.

    It looks for the operators of ONNX's own domain under its short name only, knows none that ONNX Runtime adds there,
    wants a shape of each output, which runtimes do not, and refuses weights with several hard links, which package
    caches and our own copies have.
    """
    with mapped(path) as data:
        outside = next(external_data.external_tensors(data), None) is not None
    outline = read_outline(path)
    graph = outline.graph
    shapeless = any(map(signature.lacks_shape, graph.output))
    is_spelled_out = any(node.domain == SPELLED_OUT for node in graph.node)
    if not (outside or shapeless or is_spelled_out or any(_contributed(outline))):
        return None
    import onnx

    model = onnx.load(path, load_external_data=False)
    if shapeless:
        outputs = signature.with_inferred_shapes(path, model.graph.output)
        del model.graph.output[:]
        model.graph.output.extend(outputs)
    shorten_own_domain(model)
    contributed = list(_contributed(model))
    for node in contributed:
        node.domain = MICROSOFT
    if contributed and MICROSOFT not in {imported.domain for imported in model.opset_import}:
        model.opset_import.add(domain=MICROSOFT, version=1)
    if outside:
        _replace_external(model.graph)
    return model


def _contributed(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes, also in bodies, that ONNX Runtime alone knows although they are in ONNX's own domain."""
    opset = max(
        (imported.version for imported in model.opset_import if imported.domain in ("", SPELLED_OUT)), default=0
    )
    return (node for node in _nodes(model.graph) if is_contributed(node.domain, node.op_type, opset))


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in external_data.graphs_in(attribute):
                yield from _nodes(body)


def _explain(path: Path) -> None:
    """Raise a better error where what the checker refused has a cause and a remedy of its own."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise IrbenchError(f"{path} is not an ONNX model, or is damaged.", hint=DAMAGED) from error
    _refuse_future_format(path, model)
    _refuse_order(path, model.graph)


def _refuse_future_opset(path: Path, opset: int | None) -> None:
    """Refuse an opset that is unknown here; the checker accepts it, and a runtime may never come back from it."""
    from onnx import defs

    known = defs.onnx_opset_version()
    if opset is not None and opset > known:
        raise IrbenchError(
            f"{path} uses opset {opset}, and the installed onnx supports up to {known}.",
            hint=_upgrade(f"the model: onnx.version_converter.convert_version(model, {known})"),
        )


def _upgrade(lowered: str) -> str:
    return f"Lower {lowered}. Or upgrade onnx: {pip_command('install', '--upgrade', 'onnx')}"


def _refuse_future_format(path: Path, model: onnx.ModelProto) -> None:
    from onnx import IR_VERSION

    if model.ir_version > IR_VERSION:
        raise IrbenchError(
            f"{path} has format version {model.ir_version}, and the installed onnx supports up to {IR_VERSION}.",
            hint=_upgrade(f"the version: model.ir_version = {IR_VERSION}"),
        )


def _refuse_order(path: Path, graph: onnx.GraphProto) -> None:
    """Say what is wrong with the order of the nodes: a tensor that no node computes, a cycle, or just the order."""
    makers = {name: number for number, node in enumerate(graph.node) for name in node.output if name}
    known = {tensor.name for tensor in (*graph.input, *graph.initializer)}
    known |= {sparse_initializer.values.name for sparse_initializer in graph.sparse_initializer} | {""}
    for number, node in enumerate(graph.node):
        for name in node.input:
            if name in known:
                continue
            if name not in makers:
                raise IrbenchError(
                    f"{path} has no tensor '{name}', which node '{node.name or node.op_type}' reads: no node, "
                    "input or initializer has that name.",
                    hint="Its weights may have been stripped: export it again.",
                )
            if makers[name] >= number:
                raise _out_of_order(path, graph, makers)


def _out_of_order(path: Path, graph: onnx.GraphProto, makers: dict[str, int]) -> IrbenchError:
    needs = {number: {makers[name] for name in node.input if name in makers} for number, node in enumerate(graph.node)}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        first = graph.node[error.args[1][0]]
        return IrbenchError(
            f"The nodes of {path} form a cycle through '{first.name or first.op_type}'.",
            hint="No runtime can run it: export it again.",
        )
    return IrbenchError(
        f"The nodes of {path} are not in the order in which they can run, which the ONNX standard requires.",
        hint="Sort them, for example with graph.sort() of onnx-ir, and save the model again.",
    )


def _replace_external(graph: onnx.GraphProto) -> None:
    """Put inputs in place of the weights that lie elsewhere, so that the checker need not open their files."""
    from onnx import helper

    outside = [initializer for initializer in graph.initializer if initializer.external_data]
    inside = [initializer for initializer in graph.initializer if not initializer.external_data]
    fed = {tensor.name for tensor in graph.input}
    graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in outside
        if tensor.name not in fed
    )
    del graph.initializer[:]
    graph.initializer.extend(inside)
