"""Schemas of contributed operators, registered with ONNX for as long as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from irbench.onnx.contributed.attention import ATTENTION
from irbench.onnx.contributed.context import NodeTypes, ShapeRule, ShapeRules
from irbench.onnx.contributed.convolutions import CONVOLUTIONS
from irbench.onnx.contributed.elementwise import ELEMENTWISE
from irbench.onnx.contributed.products import PRODUCTS

if TYPE_CHECKING:
    import onnx

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
