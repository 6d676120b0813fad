"""Complex tensors become pairs of real ones: by which copies of a node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench_tf.complex_numbers import rewrite_complex_numbers

FLOAT, COMPLEX64 = 1, 14


class Graph:
    """What the rewriter uses of a graph of tf2onnx; tensors whose names begin with ``c`` are complex."""

    def __init__(self, *nodes: tuple[str, tuple[str, ...], str]) -> None:
        self.nodes: list[Any] = []
        for kind, inputs, output in nodes:
            self.make_node(kind, list(inputs), outputs=[output])

    def get_nodes(self) -> list[Any]:
        return self.nodes

    def get_dtype(self, tensor: str) -> int:
        return COMPLEX64 if tensor.startswith("c") else FLOAT

    def get_shape(self, _: str) -> list[int]:
        return [2, 2]

    def get_node_by_output(self, tensor: str) -> Any:
        return next(node for node in self.nodes if tensor in node.output)

    def remove_node(self, name: str) -> None:
        self.nodes = [node for node in self.nodes if node.name != name]

    def make_node(
        self, kind: str, inputs: list[str], outputs: list[str] | None = None, name: str | None = None, **_: Any
    ) -> Any:
        name = name or f"{kind}_{len(self.nodes)}"
        producers = [node for tensor in inputs for node in self.nodes if tensor in node.output]
        node = SimpleNamespace(type=kind, name=name, input=inputs, output=outputs or [name], inputs=producers, attr={})
        node.output_shapes, node.output_dtypes = [[2, 2]], [FLOAT]
        node.is_const, node.get_attr = lambda: False, lambda _: None
        self.nodes.append(node)
        return node


def rewritten(*operands: str) -> Graph:
    """Return the graph of the imaginary part of an Einsum of complex tensors."""
    graph = Graph(
        ("Placeholder", (), "real"),
        ("Placeholder", (), "imaginary"),
        ("Complex", ("real", "imaginary"), "c"),
        ("Einsum", operands, "c_sum"),
        ("Imag", ("c_sum",), "answer"),
    )
    rewrite_complex_numbers(graph, list(graph.nodes))
    return graph


def sums(graph: Graph) -> list[list[str]]:
    return [node.input for node in graph.nodes if node.type == "Einsum" and node.output != ["c_sum"]]


def test_an_einsum_of_one_tensor_is_copied_for_both_parts():
    assert sums(rewritten("c")) == [["real"], ["imaginary"]]


def test_an_einsum_of_two_tensors_is_a_product():
    assert len(sums(rewritten("c", "c"))) == 4


def test_an_einsum_of_three_tensors_is_refused_by_its_name():
    with pytest.raises(IrbenchError, match="Einsum"):
        rewritten("c", "c", "c")
