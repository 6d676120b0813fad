"""Names for sizes of which nothing else is known.

The length behind a strided convolution of a dynamic length is nothing that a product of names can say. It gets a name
of its own: whatever it is in a run, values that have it from the same axis are equally long. So sizes can be followed
from there as those of inputs can.

A name stands for one axis of one value, and holds for one inference: what was named before is forgotten first, because
passes change what values are. Inside bodies nothing is named, where each iteration may have another size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnx_ir as ir

_PREFIX = "irbench_unnamed_"


class UnnamedSizes:
    """Hands out names that no size of a graph has.

    Args:
        graph: Its inputs may have such names.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self._taken = {name for value in graph.inputs for name in _names(value)}
        self._count = 0

    def name(self, node: ir.Node) -> None:
        """Name the unknown sizes of a node's outputs; those of graph outputs stay, and so does an unknown rank."""
        import onnx_ir as ir

        for value in node.outputs:
            # the elements of a sequence share its shape, and may differ in what is unknown of it
            if value.shape is None or value.is_graph_output() or not isinstance(value.type, ir.TensorType):
                continue
            sizes = [size if isinstance(size, int) else size.value for size in value.shape]
            if None in sizes:
                value.shape = ir.Shape([self._next() if size is None else size for size in sizes])

    def _next(self) -> str:
        self._count += 1
        name = f"{_PREFIX}{self._count}"
        return self._next() if any(name in taken for taken in self._taken) else name


def forget_names(graph: ir.Graph) -> None:
    """Make sizes unknown again that were named in a graph or in bodies inside it; those of its inputs stay."""
    for part in (graph, *graph.subgraphs()):
        for value in (
            *(part.inputs if part is not graph else ()),
            *(output for node in part for output in node.outputs),
        ):
            if any(_PREFIX in name for name in _names(value)):
                _forget(value)


def _forget(value: ir.Value) -> None:
    import onnx_ir as ir

    assert value.shape is not None
    sizes: Iterable[int | str | None] = (size if isinstance(size, int) else size.value for size in value.shape)
    value.shape = ir.Shape([None if isinstance(size, str) and _PREFIX in size else size for size in sizes])


def _names(value: ir.Value) -> list[str]:
    sizes = value.shape or ()
    return [size.value for size in sizes if not isinstance(size, int) and size.value is not None]
