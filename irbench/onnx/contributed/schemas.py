"""Schemas of contributed operators, registered with ONNX for as long as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from irbench.onnx.contributed.attention import ATTENTION
from irbench.onnx.contributed.context import Dimension, NodeTypes, ShapeRule, ShapeRules, UnknownInputType
from irbench.onnx.contributed.convolutions import CONVOLUTIONS
from irbench.onnx.contributed.elementwise import ELEMENTWISE, broadcast

if TYPE_CHECKING:
    import onnx

_MS = "com.microsoft"


def _product(dtype_of: int = 0) -> ShapeRule:
    """Return the rule of a product of matrices, each of which may be transposed."""

    def infer(node: NodeTypes) -> None:
        first, second = node.shape(0), node.shape(1)
        if node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0) or min(len(first), len(second)) < 2:
            raise UnknownInputType
        rows = first[-1] if node.attribute("transA", 0) else first[-2]
        columns = second[-2] if node.attribute("transB", 0) else second[-1]
        node.set_output(0, node.dtype(dtype_of), [*broadcast(first[:-2], second[:-2]), rows, columns])

    return infer


def _integer_product(node: NodeTypes) -> None:
    from onnx import TensorProto

    first, second = node.shape(0), node.shape(1)
    node.set_output(0, TensorProto.INT32, [*broadcast(first[:-2], second[:-2]), first[-2], second[-1]])


def _quantised_gemm(node: NodeTypes) -> None:
    """Infer integers where the output has a zero point, and floating point where it has none."""
    first, second = node.shape(0), node.shape(3)
    rows = first[1] if node.attribute("transA", 0) else first[0]
    columns = second[0] if node.attribute("transB", 0) else second[1]
    node.set_output(0, node.dtype(8 if node.has_input(8) else 1), [rows, columns])


def _packed_weights(node: NodeTypes) -> None:
    columns = int(node.attribute("N", 0))
    if not columns:
        raise UnknownInputType
    node.set_output(0, node.dtype(0), [*node.shape(0)[:-1], columns])


def _dynamically_quantised_lstm(node: NodeTypes) -> None:
    """Infer the outputs of an LSTM whose weights lie transposed."""
    steps, batch, _ = node.shape(0)
    directions: Dimension
    directions, hidden, _ = node.shape(2)
    dtype = node.dtype(0)
    node.set_output(0, dtype, [steps, directions, batch, hidden])
    node.set_output(1, dtype, [directions, batch, hidden])
    node.set_output(2, dtype, [directions, batch, hidden])


PRODUCTS: ShapeRules = {
    (_MS, "DynamicQuantizeLSTM"): _dynamically_quantised_lstm,
    (_MS, "DynamicQuantizeMatMul"): _product(),
    (_MS, "FusedGemm"): _product(),
    (_MS, "FusedMatMul"): _product(),
    (_MS, "FusedMatMulActivation"): _product(),
    (_MS, "GemmFastGelu"): _product(),
    (_MS, "MatMulBnb4"): _packed_weights,
    (_MS, "MatMulInteger16"): _integer_product,
    (_MS, "MatMulIntegerToFloat"): _product(dtype_of=2),
    (_MS, "MatMulNBits"): _packed_weights,
    (_MS, "QGemm"): _quantised_gemm,
    (_MS, "TransposeMatMul"): _product(),
}


SHAPE_RULES: ShapeRules = {**ATTENTION, **CONVOLUTIONS, **ELEMENTWISE, **PRODUCTS}
_VERSION = 1
"""Of every domain that ONNX Runtime adds."""

_Operator: TypeAlias = tuple[str, str]
"""Its domain and its type."""
_Attributes: TypeAlias = dict[_Operator, dict[str, int]]


@contextmanager
def contributed_schemas(model: onnx.ModelProto) -> Iterator[None]:
    """Let ONNX infer the shapes of those operators of a model that it does not know, while the context lasts.

    The schemas are withdrawn afterwards: ONNX's checker must not take them for complete.
    """
    from onnx import defs

    registered: list[_Operator] = []
    try:
        for operator, attributes in sorted(_used(model.graph).items()):
            if not defs.has(operator[1], operator[0]):
                defs.register_schema(_schema(operator, attributes))
                registered.append(operator)
        yield
    finally:
        for domain, name in registered:
            defs.deregister_schema(name, _VERSION, domain)


def _used(graph: onnx.GraphProto) -> _Attributes:
    """Return the operators that have a rule, each with the types of its attributes by name."""
    found: _Attributes = {}
    for node in graph.node:
        operator = node.domain, node.op_type
        if operator in SHAPE_RULES:
            found.setdefault(operator, {}).update({attribute.name: attribute.type for attribute in node.attribute})
        for body in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
            for inner, attributes in _used(body).items():
                found.setdefault(inner, {}).update(attributes)
    return found


def _schema(operator: _Operator, attributes: Mapping[str, int]) -> Any:
    """Return a schema that takes and makes any tensors; only its shape inference matters."""
    from onnx import defs

    schema: Any = defs.OpSchema
    every = _tensor_types()
    option = schema.FormalParameterOption.Variadic

    def anything(parameter: str, kind: str) -> Any:
        return schema.FormalParameter(parameter, kind, param_option=option, is_homogeneous=False, min_arity=0)

    domain, name = operator
    made = schema(
        name,
        domain,
        _VERSION,
        inputs=[anything("inputs", "I")],
        outputs=[anything("outputs", "O")],
        type_constraints=[("I", every, ""), ("O", every, "")],
        attributes=[
            schema.Attribute(attribute, schema.AttrType(kind), required=False) for attribute, kind in attributes.items()
        ],
    )
    made.set_type_and_shape_inference_function(_guarded(SHAPE_RULES[operator]))
    return made


def _tensor_types() -> list[str]:
    names = "float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string int4 uint4"
    return [f"tensor({name})" for name in names.split()]


def _guarded(rule: ShapeRule) -> Callable[[Any], None]:
    """Return what ONNX calls; where the rule knows too little, the outputs stay unknown."""

    def infer(context: Any) -> None:
        try:
            rule(NodeTypes(context))
        except (LookupError, ValueError, TypeError, ZeroDivisionError):  # sizes that no such operator can have
            return

    return infer
