"""Which device TensorFlow put the operations of a graph on: without a kernel for a GPU one goes to the CPU, unsaid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from irbench.spec import Scalar

_MOST_OPERATORS = 5
# fmt: off
_BOOKKEEPING = frozenset({
    "Const", "Identity", "NoOp", "Placeholder", "_Arg", "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send",
})
# fmt: on
"""Operations that compute nothing: they hold values, and hand them from one device to another."""


def placement_facts(partitions: Iterable[Any], device: str) -> dict[str, Scalar]:
    """Return how many operations compute, and how many on another device than was asked for, with the commonest types.

    Args:
        partitions: The graphs into which TensorFlow divided the one that runs, each of one device.
        device: ``gpu``.
    """
    computing = [node for graph in partitions for node in graph.node if node.op not in _BOOKKEEPING]
    elsewhere = Counter(node.op for node in computing if f"DEVICE:{device.upper()}:" not in node.device.upper())
    facts: dict[str, Scalar] = {"nodes": len(computing), "nodes_elsewhere": elsewhere.total()}
    if elsewhere:
        facts["operators_elsewhere"] = ",".join(operator for operator, _ in elsewhere.most_common(_MOST_OPERATORS))
    return facts
