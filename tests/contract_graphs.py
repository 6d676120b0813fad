"""What contracts of the project's own backends ask about graphs of TensorFlow, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

import tf_models
from tensorflow.core.framework import graph_pb2

from irbench.spec import Artifact
from irbench.spi import Feed, Outputs

_NO_WORK = frozenset({"Const", "NoOp", "Placeholder", "Reshape"})


def computing_nodes(artifact: Artifact) -> list[str]:
    """Return the names of the nodes that compute; a framework's graph has others too."""
    graph = graph_pb2.GraphDef.FromString(artifact.path.read_bytes())
    outputs = {spec.name for spec in artifact.outputs}
    return [node.name for node in graph.node if node.op not in _NO_WORK and node.name not in outputs]


def dense_outputs(feeds: Sequence[Feed]) -> list[Outputs]:
    """Return what the variables and operations answer that the graph of two dense layers was frozen from."""
    return [tf_models.expected("dense", feed) for feed in feeds]
