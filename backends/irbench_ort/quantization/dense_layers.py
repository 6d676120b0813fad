"""Write each ``Gemm`` in a form that ONNX Runtime's tool quantises, and that its kernels then compute right.

``Gemm(a, b, c)`` is alpha * a @ b + beta * c, a and b transposed or not.

Static quantisation keeps ``Gemm``:
1. alpha goes into constant weights, beta into a constant bias
2. A bias that differs between rows becomes an ``Add``: the tool takes one number for each output. So does any bias
   where alpha remains, because the integer kernel multiplies the bias by alpha too
3. Constant weights are transposed beforehand: the tool rounds those that layers share once, along one axis

Dynamic quantisation knows ``MatMul`` alone:
4. ``Gemm`` of constant weights becomes ``MatMul`` and ``Add``, in bodies of control flow too. The tool has such a step,
   but it transposes weights in place, although others may read them and their shape may be stated
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, numpy_helper

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, take_name, used_names
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx

_INPUT, _WEIGHT, _BIAS = 0, 1, 2
_FLOAT = 1
"""ONNX's number of the element type float32."""


def simplify_gemms(model: onnx.ModelProto) -> None:
    """Apply rules 1 to 3 to the main graph, in place."""
    rewriter = _LayerRewriter(model)
    _replace_gemms(model.graph, rewriter.simplified, bodies=False)
    rewriter.drop_unread()


def gemms_to_matmuls(model: onnx.ModelProto) -> None:
    """Apply rule 4 to the main graph and all bodies, in place."""
    rewriter = _LayerRewriter(model)
    _replace_gemms(model.graph, rewriter.as_matmul, bodies=True)
    rewriter.drop_unread()


def _replace_gemms(
    graph: onnx.GraphProto, nodes_for: Callable[[onnx.NodeProto], list[onnx.NodeProto]], *, bodies: bool
) -> None:
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for attribute in node.attribute if bodies else ():
            for body in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                _replace_gemms(body, nodes_for, bodies=True)
        nodes += nodes_for(node) if (node.domain, node.op_type) == ("", "Gemm") else [node]
    del graph.node[:]
    graph.node.extend(nodes)


class _LayerRewriter:
    """Rewrites single nodes; new constants go to the main graph, under names that no value of the model has."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        self._constants = {initializer.name: initializer for initializer in model.graph.initializer}
        self._taken = names_in(DetachedModel(model, {}))
        self._made: dict[tuple[str, str, float], str] = {}

    def simplified(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return what takes the place of a ``Gemm`` for static quantisation."""
        self._scale(node, _WEIGHT, "alpha")
        self._scale(node, _BIAS, "beta")
        self._transpose(node, _WEIGHT, "transB")
        bias = self._constants.get(_input(node, _BIAS))
        if bias is None or _number(node, "beta") != 1:
            return [node]
        by_row = len(bias.dims) == 2 and bias.dims[0] > 1
        return self._with_added_bias(node) if by_row or _number(node, "alpha") != 1 else [node]

    def as_matmul(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return what takes the place of a ``Gemm`` for dynamic quantisation."""
        self._scale(node, _WEIGHT, "alpha")
        self._scale(node, _BIAS, "beta")
        if _number(node, "alpha") != 1 or (_input(node, _BIAS) and _number(node, "beta") != 1):
            return [node]  # of computed matrices or biases; the tool leaves it too
        product, *addition = self._with_added_bias(node) if _input(node, _BIAS) else [node]
        return [*self._matmul(product), *addition]

    def drop_unread(self) -> None:
        """Remove the constants that were replaced and that nothing reads any more."""
        unread = {name for name, _, _ in self._made}.difference(used_names(self._graph))
        kept = [initializer for initializer in self._graph.initializer if initializer.name not in unread]
        del self._graph.initializer[:]
        self._graph.initializer.extend(kept)

    def _matmul(self, gemm: onnx.NodeProto) -> list[onnx.NodeProto]:
        transpositions: list[onnx.NodeProto] = []
        for place, attribute in ((_INPUT, "transA"), (_WEIGHT, "transB")):
            self._transpose(gemm, place, attribute)
            if _number(gemm, attribute):
                name = gemm.input[place]
                gemm.input[place] = take_name(f"{name}_transposed", self._taken)
                transpositions.append(helper.make_node("Transpose", [name], [gemm.input[place]], perm=[1, 0]))
        return [*transpositions, helper.make_node("MatMul", gemm.input[:_BIAS], gemm.output, gemm.name)]

    def _with_added_bias(self, gemm: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return a ``Gemm`` without bias, and what adds it; beta is 1."""
        bias, output = gemm.input[_BIAS], gemm.output[0]
        del gemm.input[_BIAS]
        gemm.output[0] = take_name(f"{output}_product", self._taken)
        return [gemm, helper.make_node("Add", [gemm.output[0], bias], [output])]

    def _scale(self, node: onnx.NodeProto, place: int, attribute: str) -> None:
        """Multiply a constant input with the number that the node multiplies it with, which becomes 1."""
        name, factor = _input(node, place), _number(node, attribute)
        if factor != 1 and name in self._constants and self._constants[name].data_type == _FLOAT:
            key = (name, attribute, factor)
            node.input[place] = self._changed(key, lambda array: array * np.float32(factor))
            next(entry for entry in node.attribute if entry.name == attribute).f = 1

    def _transpose(self, node: onnx.NodeProto, place: int, attribute: str) -> None:
        name = node.input[place]
        if _number(node, attribute) and name in self._constants:
            node.input[place] = self._changed((name, "transposed", 1.0), np.transpose)
            next(entry for entry in node.attribute if entry.name == attribute).i = 0

    def _changed(self, key: tuple[str, str, float], change: Callable[[Array], Array]) -> str:
        """Return the name of a constant made from another one, which others may read; made once for each key."""
        if key not in self._made:
            name, how, _ = key
            changed = np.array(change(numpy_helper.to_array(self._constants[name])), order="C")
            tensor = numpy_helper.from_array(changed, take_name(f"{name}_{how}", self._taken))
            self._graph.initializer.append(tensor)
            self._constants[tensor.name] = tensor
            self._made[key] = tensor.name
        return self._made[key]


def _input(node: onnx.NodeProto, place: int) -> str:
    return node.input[place] if len(node.input) > place else ""


def _number(node: onnx.NodeProto, attribute: str) -> float:
    """Return an attribute of a ``Gemm``: alpha and beta are 1 where they are not given, transA and transB 0."""
    attributes = (entry for entry in node.attribute if entry.name == attribute)
    default = 1.0 if attribute in ("alpha", "beta") else 0.0
    return next((entry.f if attribute in ("alpha", "beta") else float(entry.i) for entry in attributes), default)
