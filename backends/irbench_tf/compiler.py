"""Compile a TensorFlow graph file to a session, and report its effective settings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from irbench.spec import Artifact, Load, Scalar
from irbench.spi import Feed, Refusal
from irbench_tf import precision
from irbench_tf.options import Grappler, TensorFlowOptions, parse_options
from irbench_tf.probe import gpu_settings, native_gpu_precision, pin_tensor_float_32, require_gpu
from irbench_tf.pure_operators import require_pure_graph
from irbench_tf.session import GraphSession, callable_options, import_graph

_FUNCTION = "irbench_model"
_UNKNOWN = -1
"""Of a dimension that differs from call to call, such as the tokens of a prompt and of the steps after it."""


def _bind_shapes(graph_def: Any, artifact: Artifact) -> None:
    shapes = {spec.name: spec.shape for spec in artifact.inputs}
    for node in graph_def.node:
        if node.op == "Placeholder" and node.name in shapes:
            shape = node.attr["shape"].shape
            shape.Clear()
            shape.SetInParent()
            for size in shapes[node.name]:
                shape.dim.add(size=size if isinstance(size, int) else _UNKNOWN)


def _as_one_computation(graph_def: Any, artifact: Artifact) -> Any:
    """Return a graph with the same placeholders and outputs that calls the rest as a function compiled by XLA.

    This is what ``tf.function(jit_compile=True)`` makes of a graph, without tracing it again.
    """
    from tensorflow.core.framework import graph_pb2

    inputs = {spec.name for spec in artifact.inputs}
    placeholders = {node.name: node for node in graph_def.node if node.name in inputs}
    results = {node.name: node for node in graph_def.node if node.name in {spec.name for spec in artifact.outputs}}
    outer = graph_pb2.GraphDef(versions=graph_def.versions, library=graph_def.library)
    function = outer.library.function.add()
    function.signature.name = _FUNCTION
    call = graph_pb2.GraphDef().node.add(name=f"{_FUNCTION}_call", op="StatefulPartitionedCall")
    for index, spec in enumerate(artifact.inputs):
        placeholder = placeholders[spec.name]
        outer.node.add().CopyFrom(placeholder)
        function.signature.input_arg.add(name=f"argument_{index}", type=placeholder.attr["dtype"].type)
        call.input.append(spec.name)
        call.attr["Tin"].list.type.append(placeholder.attr["dtype"].type)
    _fill_body(function, graph_def, {spec.name: f"argument_{index}" for index, spec in enumerate(artifact.inputs)})
    for index, spec in enumerate(artifact.outputs):
        element = results[spec.name].attr["T"].type
        function.signature.output_arg.add(name=f"result_{index}", type=element)
        function.ret[f"result_{index}"] = f"{spec.name}:output:0"
        call.attr["Tout"].list.type.append(element)
        outer.node.add(name=spec.name, op="Identity", input=[f"{call.name}:{index}"]).attr["T"].type = element
    call.attr["f"].func.name = _FUNCTION
    call.attr["_XlaMustCompile"].b = True
    outer.node.append(call)
    return outer


def _fill_body(function: Any, graph_def: Any, arguments: dict[str, str]) -> None:
    """Add every node but the placeholders, with references as function bodies write them: ``node:port:index``."""
    ports = {node.name: _output_ports(node) for node in graph_def.node}
    for node in graph_def.node:
        if node.name in arguments:
            continue
        inner = function.node_def.add()
        inner.CopyFrom(node)
        for index, reference in enumerate(node.input):
            name, _, position = reference.partition(":")
            if reference.startswith("^"):
                if name.removeprefix("^") in arguments:
                    inner.input[index] = f"^{arguments[name.removeprefix('^')]}"
            elif name in arguments:
                inner.input[index] = arguments[name]
            else:
                inner.input[index] = f"{name}:{ports[name][int(position or 0)]}"


def _output_ports(node: Any) -> list[str]:
    """Return ``port:index`` of each of a node's outputs, in order."""
    from tensorflow.python.framework import op_def_registry

    ports: list[str] = []
    definition: Any = op_def_registry.get(node.op)
    for argument in definition.output_arg:
        if argument.number_attr:
            count = node.attr[argument.number_attr].i
        elif argument.type_list_attr:
            count = len(node.attr[argument.type_list_attr].list.type)
        else:
            count = 1
        ports.extend(f"{argument.name}:{index}" for index in range(count))
    return ports


_MOST_OPERATORS = 5
# fmt: off
_BOOKKEEPING = frozenset({
    "Const", "Identity", "NoOp", "Placeholder", "_Arg", "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send",
})
# fmt: on
"""Operations that compute nothing: they hold values, and hand them from one device to another."""


def placement_facts(partitions: Iterable[Any], device: str) -> dict[str, Scalar]:
    """Return how many operations compute, how many of them on another device, and the commonest types of those."""
    computing = [node for graph in partitions for node in graph.node if node.op not in _BOOKKEEPING]
    elsewhere = Counter(node.op for node in computing if f"DEVICE:{device.upper()}:" not in node.device.upper())
    facts: dict[str, Scalar] = {"nodes": len(computing), "nodes_elsewhere": elsewhere.total()}
    if elsewhere:
        facts["operators_elsewhere"] = ",".join(operator for operator, _ in elsewhere.most_common(_MOST_OPERATORS))
    return facts


pool_of_process: dict[str, int] = {}
"""TensorFlow makes the intra-op pool once in a process; later sessions get the same."""


@dataclass(frozen=True)
class ThreadPlan:
    """Sizes of TensorFlow's pools; 0 is TensorFlow's own choice.

    Attributes:
        on_caller: Whether each inference runs on its caller's thread instead of the inter-op pool.
    """

    intra_op: int
    inter_op: int
    on_caller: bool
    total: int


def plan_threads(load: Load, options: TensorFlowOptions, pools: dict[str, int]) -> ThreadPlan:
    """Return the pools for a load; ``pools`` are those that its process has, which new ones are added to.

    The thread that runs an operation takes one share of its work and the intra-op pool the others. One stream therefore
    keeps ``threads`` busy with a pool of as many; with several streams the callers come on top of the pool, which
    shrinks by their number. A pool of one is never used: each caller does its work alone.
    """
    if load.threads is None:
        inter_op = options.inter_op_threads or 0
        intra_op = pools.setdefault("intra_op", 0)
        return ThreadPlan(intra_op, inter_op, on_caller=False, total=intra_op or len(os.sched_getaffinity(0)))
    runners = load.streams if options.inter_op_threads is None else options.inter_op_threads
    pool = load.threads if runners == 1 else max(1, load.threads - runners)
    intra_op = pools.setdefault("intra_op", pool)
    total = intra_op if runners == 1 else runners if intra_op == 1 else runners + intra_op
    return ThreadPlan(intra_op, runners, on_caller=options.inter_op_threads is None, total=total)


FUNCTIONAL = frozenset({"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"})


def lower(graph_def: Any) -> None:
    """Let the session spread loops and branches out, in place, as ``tf.function`` does by default.

    A spread-out loop reads its weights as constants; a function gets them as arguments in each turn.
    """
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if node.op in FUNCTIONAL:
                node.attr["_lower_using_switch_merge"].b = True


@dataclass(frozen=True)
class Job:
    """One artifact and how it is to be run.

    Attributes:
        device: ``cpu`` or ``gpu``.
    """

    artifact: Artifact
    load: Load
    device: str
    jit: bool

    @property
    def options(self) -> TensorFlowOptions:
        """The load's options, parsed."""
        return parse_options(self.load.options, "tf-xla" if self.jit else "tf")

    @property
    def rewriting(self) -> Grappler:
        """Which of TensorFlow's rewriters run."""
        return rewriting(self.options, self.device, jit=self.jit)


def rewriting(options: TensorFlowOptions, device: str, *, jit: bool) -> Grappler:
    """Return which of TensorFlow's rewriters run; those for GPUs did not run at export, so all run there."""
    if jit or options.grappler == "off":
        return "off"
    return options.grappler if device == "cpu" else "all"


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
    requested = job.load.precision
    if exported != "fp32" and requested not in ("native", exported):
        raise Refusal(f"The graph was exported in {exported}, not {requested}.", hint="Use `--precision native`.")
    _bind_shapes(graph_def, job.artifact)
    if job.jit:
        graph_def = _as_one_computation(graph_def, job.artifact)
    elif job.options.loops == "lowered":
        lower(graph_def)
    serialised = graph_def.SerializeToString()
    del graph_def  # weights may be large, and TensorFlow is about to copy them
    return LoadedGraph(import_graph(serialised), exported)


def compile_graph(job: Job, loaded: LoadedGraph) -> GraphSession:
    """Make a session; let XLA compile, and read back what was made."""
    from tensorflow.python.client import session as tf_session
    from tensorflow.python.framework import errors

    plan = plan_threads(job.load, job.options, pool_of_process)
    if job.device == "gpu" and job.load.precision != "native":
        pin_tensor_float_32()
    session = tf_session.Session(graph=loaded.graph, config=_session_config(job, plan))
    try:
        if job.device == "gpu":
            require_gpu(session.list_devices())
        options = callable_options(job.artifact, on_caller=plan.on_caller)
        call = session._make_callable_from_options(options)  # noqa: SLF001 - make_callable looks every feed up again in each call
        facts = _settle(job, loaded, session, call)
    except (errors.OpError, ValueError) as error:
        session.close()
        raise _explain(job, error) from error
    except Refusal:
        session.close()
        raise
    return GraphSession(session, call, {**_settings(job, plan), **facts})


def _session_config(job: Job, plan: ThreadPlan) -> Any:
    """Return the session's settings: pools, rewriting, and GPU memory that grows instead of being taken whole."""
    from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

    config = config_pb2.ConfigProto(
        intra_op_parallelism_threads=plan.intra_op, inter_op_parallelism_threads=plan.inter_op
    )
    config.gpu_options.allow_growth = True
    rewriting = config.graph_options.rewrite_options
    rewriting.min_graph_nodes = -1
    narrowing = precision.rewriters(job.load.precision)
    if job.rewriting == "off":
        rewriting.disable_meta_optimizer = True
    elif job.rewriting == "remap":
        rewriting.optimizers.extend((*narrowing, "remap"))
        rewriting.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
    elif narrowing:
        setattr(rewriting, narrowing[0], rewriter_config_pb2.RewriterConfig.ON)
    return config


def _settle(job: Job, loaded: LoadedGraph, session: Any, call: Any) -> Mapping[str, Scalar]:
    """Run what must run before the first inference counts."""
    if job.jit:
        call(*_zeros(job))
    requested = job.load.precision
    narrows = bool(precision.rewriters(requested))
    if job.device == "cpu" and not narrows:
        return {"precision": _unpinned(job, loaded)}
    graphs = executed_graphs(job, session)
    placed = placement_facts(graphs, job.device) if job.device != "cpu" else {}
    if not narrows:
        return {"precision": _unpinned(job, loaded), **placed}
    nodes = precision.count_nodes(graphs, requested)
    if nodes == 0:
        raise Refusal(
            f"TensorFlow converted no operation of this graph to {requested} on this machine.",
            hint="Use `--precision fp32` or `--precision native`.",
        )
    return {"precision": requested, f"{requested}_nodes": nodes, **placed}


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
    """Return one inference of zeros, in which dimensions that differ from call to call have size 1."""
    shapes = ([size if isinstance(size, int) else 1 for size in spec.shape] for spec in job.artifact.inputs)
    return tuple(np.zeros(shape, spec.dtype) for shape, spec in zip(shapes, job.artifact.inputs, strict=True))


def _unpinned(job: Job, loaded: LoadedGraph) -> str:
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
        "grappler": job.rewriting,
        **(gpu_settings() if job.device == "gpu" else {}),
    }


def _explain(job: Job, error: Exception) -> Refusal:
    reason = str(error).strip().splitlines()[0]
    who = "XLA cannot compile this graph" if job.jit else "TensorFlow cannot run this graph as asked"
    hint = "Use the backend tf for it." if job.jit else "Use `--precision fp32`, or export the model again."
    return Refusal(f"{who}: {reason}", hint=hint)
