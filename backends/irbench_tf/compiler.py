"""Compile a TensorFlow graph file to a session, and report its effective settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from irbench.spec import Artifact, Load, Scalar
from irbench.spi import Feed, Refusal
from irbench_tf import precision
from irbench_tf.computation import as_one_computation, bind_shapes
from irbench_tf.devices import native_gpu_precision, pin_tensor_float_32, require_gpu
from irbench_tf.options import TensorFlowOptions, parse_options
from irbench_tf.placement import placement_facts
from irbench_tf.pure_operators import require_pure_graph
from irbench_tf.session import GraphSession, callable_options, import_graph
from irbench_tf.threads import ThreadPlan, plan_threads

_FUNCTIONAL = frozenset({"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"})


def lower(graph_def: Any) -> None:
    """Let the session spread loops and branches out, in place, as ``tf.function`` does by default.

    A spread-out loop reads its weights as constants; a function gets them as arguments in each turn.
    """
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if node.op in _FUNCTIONAL:
                node.attr["_lower_using_switch_merge"].b = True


@dataclass(frozen=True)
class Job:
    """One artifact and how it is to be run.

    Attributes:
        device: ``cpu`` or ``gpu``.
        jit: Whether XLA compiles the graph.
    """

    artifact: Artifact
    load: Load
    device: str
    jit: bool

    @property
    def options(self) -> TensorFlowOptions:
        """The load's options, parsed."""
        return parse_options(self.load.options, "tf-xla" if self.jit else "tf")


@dataclass(frozen=True)
class LoadedGraph:
    """A graph in TensorFlow's hands, and the precision its operations were exported in."""

    graph: Any
    precision: str


def load_graph(job: Job) -> LoadedGraph:
    """Read the file, bind its shapes and import it."""
    from google.protobuf.message import DecodeError
    from tensorflow.core.framework import graph_pb2

    try:
        graph_def = graph_pb2.GraphDef.FromString(job.artifact.path.read_bytes())
    except DecodeError:
        raise Refusal(f"{job.artifact.path.name} is not a TensorFlow graph.", hint="Export the model again.") from None
    require_pure_graph(graph_def, job.artifact.path.name)
    exported = precision.graph_precision(graph_def)
    wanted = job.load.precision
    if exported != "fp32" and wanted not in ("native", exported):
        raise Refusal(f"The graph was exported in {exported}, not {wanted}.", hint="Use --precision native.")
    bind_shapes(graph_def, job.artifact)
    if job.jit:
        graph_def = as_one_computation(graph_def, job.artifact)
    elif job.options.loops == "lowered":
        lower(graph_def)
    serialised = graph_def.SerializeToString()
    del graph_def  # weights may be large, and TensorFlow is about to copy them
    return LoadedGraph(import_graph(serialised), exported)


def compile_graph(job: Job, loaded: LoadedGraph) -> GraphSession:
    """Make a session; let XLA compile, and read back what was made."""
    from tensorflow.python.client import session as tf_session
    from tensorflow.python.framework import errors

    plan = plan_threads(job.load, job.options)
    if job.device == "gpu" and job.load.precision != "native":
        pin_tensor_float_32()
    session = tf_session.Session(graph=loaded.graph, config=session_config(job, plan))
    try:
        if job.device == "gpu":
            require_gpu(session)
        options = callable_options(job.artifact, on_caller=plan.on_caller)
        call = session._make_callable_from_options(options)  # noqa: SLF001 - make_callable looks every feed up anew in each call
        found = _settle(job, loaded, session, call)
    except (errors.OpError, ValueError) as error:
        session.close()
        raise _explain(job, error) from error
    except Refusal:
        session.close()
        raise
    return GraphSession(session, call, {**_settings(job, plan), **found})


def session_config(job: Job, plan: ThreadPlan) -> Any:
    """Return the session's settings: pools, rewriting, and GPU memory that grows instead of being taken whole."""
    from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

    config = config_pb2.ConfigProto(
        intra_op_parallelism_threads=plan.intra_op, inter_op_parallelism_threads=plan.inter_op
    )
    config.gpu_options.allow_growth = True
    rewriting = config.graph_options.rewrite_options
    rewriting.min_graph_nodes = -1
    narrowing = precision.rewriters(job.load.precision)
    if job.jit or job.options.grappler == "off":
        rewriting.disable_meta_optimizer = True
    elif job.options.grappler == "remap" and job.device == "cpu":
        rewriting.optimizers.extend((*narrowing, "remap"))
        rewriting.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
    elif narrowing:
        setattr(rewriting, narrowing[0], rewriter_config_pb2.RewriterConfig.ON)
    return config


def _settle(job: Job, loaded: LoadedGraph, session: Any, call: Any) -> Mapping[str, Scalar]:
    """Run what must run before the first inference counts."""
    if job.jit:
        call(*_zeros(job))
    wanted = job.load.precision
    narrows = bool(precision.rewriters(wanted))
    if job.device == "cpu" and not narrows:
        return {"precision": _unpinned(job, loaded)}
    graphs = executed_graphs(job, session)
    placed = placement_facts(graphs, job.device) if job.device != "cpu" else {}
    if not narrows:
        return {"precision": _unpinned(job, loaded), **placed}
    nodes = precision.count_nodes(graphs, wanted)
    if nodes == 0:
        raise Refusal(
            f"TensorFlow converted no operation of this graph to {wanted} on this machine.",
            hint="Use --precision fp32 or native.",
        )
    return {"precision": wanted, f"{wanted}_nodes": nodes, **placed}


def executed_graphs(job: Job, session: Any) -> Sequence[Any]:
    """Return the graphs that a session runs, as rewritten for the device, from one inference of zeros."""
    from tensorflow.core.protobuf import config_pb2

    options = callable_options(job.artifact, on_caller=True)
    options.run_options.output_partition_graphs = True
    report = config_pb2.RunMetadata()
    session._make_callable_from_options(options)(*_zeros(job), run_metadata=report)  # noqa: SLF001 - only it takes run metadata with feeds by name
    graphs: Sequence[Any] = report.partition_graphs
    return graphs


def _zeros(job: Job) -> Feed:
    return tuple(np.zeros([int(size) for size in spec.shape], spec.dtype) for spec in job.artifact.inputs)


def _unpinned(job: Job, loaded: LoadedGraph) -> str:
    """Return what the graph's own types become on the device."""
    native = job.load.precision == "native" and loaded.precision == "fp32"
    return native_gpu_precision() if native and job.device == "gpu" else loaded.precision


def _settings(job: Job, plan: ThreadPlan) -> dict[str, Scalar]:
    from tensorflow.python.util import _pywrap_util_port

    return {
        "threads": plan.total,
        "streams": job.load.streams,
        "device": job.device,
        "version": metadata.version("tensorflow"),
        "intra_op_threads": plan.intra_op or None,
        "inter_op_threads": 0 if plan.on_caller else plan.inter_op or None,
        "onednn": bool(_pywrap_util_port.IsMklEnabled()),
        "grappler": "off" if job.jit else job.options.grappler,
    }


def _explain(job: Job, error: Exception) -> Refusal:
    reason = str(error).strip().splitlines()[0]
    who = "XLA cannot compile this graph" if job.jit else "TensorFlow cannot run this graph as asked"
    hint = "Use the backend tf for it." if job.jit else "Use --precision fp32, or export the model again."
    return Refusal(f"{who}: {reason}", hint=hint)
