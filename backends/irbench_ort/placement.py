"""Which execution provider got which node of a graph, as a session remembers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irbench.spec import Scalar

CPU_PROVIDER = "CPUExecutionProvider"
_MOST_OP_TYPES = 5


@dataclass(frozen=True)
class AssignedNode:
    """A node of the graph when it was divided among providers.

    Attributes:
        name: Its name in the ONNX graph; empty where it has none.
    """

    name: str
    op_type: str
    provider: str


def assigned_nodes(session: Any) -> tuple[AssignedNode, ...] | None:
    """Return every node with the provider that runs it; ``None`` where this version of the runtime does not tell.

    Args:
        session: One that was asked to remember: ``session.record_ep_graph_assignment_info``.
    """
    remembered = getattr(session, "get_provider_graph_assignment_info", None)
    if remembered is None:
        return None
    return tuple(
        AssignedNode(node.name, node.op_type, part.ep_name) for part in remembered() for node in part.get_nodes()
    )


def placement_facts(nodes: Sequence[AssignedNode] | None, provider: str) -> dict[str, Scalar]:
    """Return how many nodes a provider was asked to run, and how many run elsewhere, with their commonest operators."""
    if nodes is None:
        return {}
    elsewhere = Counter(node.op_type for node in nodes if node.provider != provider)
    facts: dict[str, Scalar] = {"nodes": len(nodes), "nodes_elsewhere": elsewhere.total()}
    if elsewhere:
        facts["operators_elsewhere"] = ",".join(op_type for op_type, _ in elsewhere.most_common(_MOST_OP_TYPES))
    return facts
