"""The weights of an exported Keras model, found by the names that its layers have there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir

from irbench.errors import IrbenchError
from irbench.optimizer.pass_tools.edit import weight
from irbench.spi import Array

_BIASES = ("BiasAdd/ReadVariableOp", "Add/ReadVariableOp")


@dataclass(frozen=True)
class Dense:
    """A dense layer: ``x @ kernel + bias``.

    Attributes:
        kernel: Shape (inputs, outputs).
        bias: Shape (outputs,).
    """

    kernel: Array
    bias: Array


@dataclass(frozen=True)
class Norm:
    """A normalisation of the last axis.

    Attributes:
        scale: Shape (width,).
        bias: Shape (width,).
        epsilon: Added to the variance.
    """

    scale: Array
    bias: Array
    epsilon: float


class Weights:
    """What a graph holds, by the layers of the model that it was exported from.

    A tensor is called ``model_1/layer_1/part_1/operation:0`` there; layers are asked for as ``layer/part``.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self._graph = graph
        self._held = {_path(name): value for name, value in graph.initializers.items() if "/" in name}

    @property
    def model(self) -> str:
        """What the exported model was called; nothing where no tensor says so."""
        names = (re.match(r"([^/]+)_\d+/", name) for name in self._graph.initializers)
        return next((found[1] for found in names if found), "")

    def table(self, layer: str) -> Array:
        """Return what a layer looks rows up in: the largest of its tensors.

        Raises:
            IrbenchError: It has none.
        """
        held = [_array(value, layer) for name, value in self._held.items() if name.startswith(f"{layer}/")]
        if not held:
            raise _missing(layer)
        return max(held, key=lambda item: item.size)

    def dense(self, layer: str) -> Dense:
        """Return a dense layer, or a projection of an attention layer, with heads joined; raises as :meth:`table`."""
        bias = self._value(*(f"{layer}/{ending}" for ending in _BIASES))
        flat = _array(bias, layer).reshape(-1)
        (use,) = bias.uses()
        kernel = next((_kernel(node) for node in _upwards(use.node) if _kernel(node) is not None), None)
        if kernel is None:
            raise _missing(layer)
        return Dense(kernel.reshape(-1, flat.size), flat)

    def norm(self, layer: str, epsilon: float) -> Norm:
        """Return a normalisation; raises as :meth:`table`."""
        scale, bias = (_array(self._value(f"{layer}/{item}"), layer) for item in ("Reshape", "Reshape_1"))
        return Norm(scale.reshape(-1), bias.reshape(-1), epsilon)

    def patches(self) -> Dense:
        """Return the one convolution, its kernel of shape (outputs, inputs, height, width); raises as :meth:`table`."""
        found = [node for node in self._graph if node.op_type == "Conv"]
        if len(found) != 1:
            raise _missing("patches")
        return Dense(_array(found[0].inputs[1], "patches"), _array(found[0].inputs[2], "patches"))

    def depth(self, block: str) -> int:
        """Return how many layers have a name that begins with ``block`` and a number."""
        numbers = (re.match(rf"{block}(\d+)_", name) for name in self._held)
        return max((int(found[1]) for found in numbers if found), default=0)

    def _value(self, *names: str) -> ir.Value:
        found = next((self._held[name] for name in names if name in self._held), None)
        if found is None:
            raise _missing(names[0])
        return found


def _path(name: str) -> str:
    """Return a tensor's name without the model, the counters of layers, and the number of the output."""
    _, *layers, operation = name.split("/")
    return "/".join((*(re.sub(r"_\d+$", "", layer) for layer in layers), operation.partition(":")[0]))


def _upwards(node: ir.Node) -> Iterator[ir.Node]:
    """Yield what computes the first inputs of a node that are computed, the nearest first."""
    above = next((tensor.producer() for tensor in node.inputs if tensor is not None and tensor.producer()), None)
    if above is not None:
        yield above
        yield from _upwards(above)


def _kernel(node: ir.Node) -> Array | None:
    held = weight(node.inputs[1]) if node.op_type in ("MatMul", "Gemm", "Einsum") else None
    return held.T if held is not None and node.attributes.get_int("transB") else held


def _array(value: ir.Value | None, name: str) -> Array:
    held = weight(value)
    if held is None:
        raise _missing(name)
    return held


def _missing(name: str) -> IrbenchError:
    return IrbenchError(
        f"The graph holds no weights of {name}.",
        hint="Only transformer_base, bert_mini and vit_tiny are written by hand.",
    )
