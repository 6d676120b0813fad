"""TensorFlow's graph rewriter, run once at export: folding and simplification, nothing bound to a device.

What depends on the device stays out: fused operations such as ``_FusedConv2D`` have no
XLA kernel, and layouts and narrow types are a matter of the device that runs the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irbench_tf.consumers import consumers_by_name

_LARGE_BYTES = 256 * 1024
_READS_WEIGHTS = frozenset({"BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "GatherV2", "MatMul"})
_FOLDS_INTO_WEIGHTS = frozenset({"Mul", "RealDiv", "Transpose"})
_PASSES_ON = frozenset({"Identity"})


def optimise(graph_def: Any, keep: Sequence[str]) -> Any:
    """Return an optimised ``GraphDef`` in which the nodes called ``keep`` still exist.

    The rewriter copies the whole graph in each of its passes, so weights that no pass
    could change are set aside meanwhile: a ResNet-50 needs a tenth of the memory.
    """
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
    from tensorflow.python.grappler import tf_optimizer

    weights = _set_weights_aside(graph_def)
    config = config_pb2.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.min_graph_nodes = -1
    for device_bound in ("remapping", "layout_optimizer", "pin_to_host_optimization"):
        setattr(rewriting, device_bound, rewriter_config_pb2.RewriterConfig.OFF)
    wrapped = meta_graph_pb2.MetaGraphDef(graph_def=graph_def)
    wrapped.collection_def["train_op"].node_list.value.extend([*keep, *weights])
    optimised = tf_optimizer.OptimizeGraph(config, wrapped)
    for node in optimised.node:
        if node.name in weights:
            node.CopyFrom(weights[node.name])
    return optimised


def _set_weights_aside(graph_def: Any) -> dict[str, Any]:
    """Turn large constants that are only ever read as weights into placeholders, in place; return them by name."""
    from tensorflow.core.framework import node_def_pb2

    users = consumers_by_name(graph_def)
    aside: dict[str, Any] = {}
    for node in graph_def.node:
        if node.op != "Const" or len(node.attr["value"].tensor.tensor_content) < _LARGE_BYTES:
            continue
        readers = _readers(node, users)
        if not readers or not all(_reads_unchanged(reader, users) for reader in readers):
            continue
        kept = node_def_pb2.NodeDef()
        kept.CopyFrom(node)
        aside[node.name] = kept
        placeholder = node_def_pb2.NodeDef(name=node.name, op="Placeholder")
        placeholder.attr["dtype"].CopyFrom(node.attr["dtype"])
        placeholder.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
        node.CopyFrom(placeholder)
    return aside


def _readers(node: Any, users: dict[str, list[Any]]) -> list[Any]:
    """Return what uses a node's value, seen through operations that only pass it on."""
    found: list[Any] = []
    for user in users[node.name]:
        found.extend(_readers(user, users) if user.op in _PASSES_ON else [user])
    return found


def _reads_unchanged(reader: Any, users: dict[str, list[Any]]) -> bool:
    """Whether the rewriter has no reason to fold a neighbour of ``reader`` into its weights."""
    return reader.op in _READS_WEIGHTS and not any(after.op in _FOLDS_INTO_WEIGHTS for after in _readers(reader, users))
