"""Fourier transforms that OpenVINO reads differently from ONNX: such a model is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import node_label
from irbench.spec import Artifact
from irbench.spi import Refusal

if TYPE_CHECKING:
    import onnx

_TRANSFORMS = frozenset({"DFT", "IDFT", "IRDFT", "RDFT"})
_WITH_BODIES = frozenset({"If", "Loop", "TensorIterator"})
_TAKES_ITS_AXIS = 20
"""The operator set from which on the axis of DFT is an input."""
_DEFAULT_AXIS = -2
_WRONG_AXIS = 1
"""The axis that is transformed where that input is ignored."""


@dataclass(frozen=True)
class _Form:
    """A form of DFT that OpenVINO may misread.

    Attributes:
        misread: What OpenVINO does where it answers another shape.
        hint: How the model can be written otherwise.
    """

    probe: str
    shape: tuple[int, ...]
    misread: str
    hint: str


_FORMS: Mapping[str, _Form] = {
    "half": _Form(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1,4,6,1] x) => (y) { y = DFT <axis = 2, onesided = 1> (x) }',
        (1, 4, 4, 2),
        "adds an axis to the output of DFT with onesided=1",
        "Write the transform with onesided=0 and slice the half out of it, which irbench export does.",
    ),
    "real": _Form(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1,4,4,2] x) => (y) '
        "{ y = DFT <axis = 2, inverse = 1, onesided = 1> (x) }",
        (1, 4, 6, 1),
        "drops the last axis of the output of DFT with onesided=1 and inverse=1",
        "Write the transform with onesided=0 on both halves of the frequencies, which irbench export does.",
    ),
    "axis": _Form(
        '<ir_version: 9, opset_import: ["": 20]> g (float[1,4,6,1] x) => (y) <int64 n = {3}, int64 a = {2}> '
        "{ y = DFT (x, n, a) }",
        (1, 4, 3, 2),
        f"transforms axis {_WRONG_AXIS} where DFT takes its axis as an input, from opset {_TAKES_ITS_AXIS} on",
        f"Export the model at opset {_TAKES_ITS_AXIS - 1} or before, where the axis is an attribute.",
    ),
}


def may_transform(model: Any) -> bool:
    """Whether a model that OpenVINO read has a Fourier transform, or a body that may have one."""
    return any(operation.get_type_name() in _TRANSFORMS | _WITH_BODIES for operation in model.get_ops())


def require_correct_reading(core: Any, artifact: Artifact) -> None:
    """Require that the installed OpenVINO reads each form of DFT in a model as ONNX defines it."""
    forms = dict(_forms(artifact))
    for name in _FORMS.keys() & forms.keys():
        form = _FORMS[name]
        if not reads_as_defined(core, form):
            raise Refusal(
                f"OpenVINO misreads a Fourier transform of this model ({forms[name]}): it {form.misread}.",
                hint=form.hint,
            )


def reads_as_defined(core: Any, form: _Form) -> bool:
    """Tell whether this OpenVINO gives a transform of one form the shape that ONNX defines."""
    from onnx import parser

    try:
        model = core.read_model(parser.parse_model(form.probe).SerializeToString())
    except RuntimeError:
        return False
    shape = model.output(0).get_partial_shape()
    return bool(shape.is_static) and tuple(shape.to_shape()) == form.shape


def _forms(artifact: Artifact) -> Iterator[tuple[str, str]]:
    # They import numpy, which listing backends has no need of.
    from irbench.onnx.reading.value_shapes import inferred_at
    from irbench.onnx.rewriting.detached_weights import nodes_of, opset_of

    outline = read_outline(artifact.path)
    if not any(map(_is_transform, nodes_of(outline))):
        return
    model = inferred_at(outline, artifact.inputs)  # without functions
    graphs = tuple(_graphs(model.graph))
    constants, ranks = dict(_integers(graphs)), dict(_ranks(graphs))
    for node in filter(_is_transform, nodes_of(model)):
        label = node_label(node.name, node.op_type, node.output)
        flags = {attribute.name for attribute in node.attribute if attribute.i}
        if "onesided" in flags:
            yield ("real" if "inverse" in flags else "half"), label
        if opset_of(model) >= _TAKES_ITS_AXIS and not _is_along_wrong_axis(node, constants, ranks):
            yield "axis", label


def _is_transform(node: onnx.NodeProto) -> bool:
    return node.op_type == "DFT" and node.domain in ("", "ai.onnx")


def _is_along_wrong_axis(node: onnx.NodeProto, constants: Mapping[str, int], ranks: Mapping[str, int]) -> bool:
    data, _, axis_input = (*node.input, "", "")[:3]
    axis = constants.get(axis_input) if axis_input else _DEFAULT_AXIS
    if axis is None:
        return False
    return axis == _WRONG_AXIS or (axis < 0 and axis + ranks.get(data, 0) == _WRONG_AXIS)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        for inner in (attribute.g, *attribute.graphs):
            yield from _graphs(inner)


def _integers(graphs: Sequence[onnx.GraphProto]) -> Iterator[tuple[str, int]]:
    from irbench.onnx.reading.small_values import computed_values, constant_values

    for graph in graphs:
        constants = dict(constant_values(graph))
        for node in graph.node:
            if node.op_type == "Constant":
                constants.update(computed_values(node, constants, {}))
        single = ((name, value) for name, value in constants.items() if value.size == 1 and value.dtype.kind == "i")
        yield from ((name, int(value.item())) for name, value in single)


def _ranks(graphs: Sequence[onnx.GraphProto]) -> Iterator[tuple[str, int]]:
    for value in (value for graph in graphs for value in (*graph.input, *graph.value_info, *graph.output)):
        if value.type.tensor_type.HasField("shape"):
            yield value.name, len(value.type.tensor_type.shape.dim)
