"""Sessions whose inferences TensorFlow's profiler traces, and the operators of each inference in such a trace.

The trace is read through the protocol buffers that TensorFlow brings. ``xprof`` reads it too, but its averages on CPUs
are wrong, and it tells one inference from another no better.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from irbench.onnx.reading.counterparts import ContainedNodes
from irbench.onnx.reading.inventory import NodeEntry
from irbench.spi import InferenceProfile, OperatorTime, Refusal, TensorShape
from irbench_tf.compiler import Job, executed_graphs
from irbench_tf.session import GraphSession

RUN = "SessionRun"
_HOST = "/host:CPU"
_INSTRUCTION, _MODULE, _STARTS, _ENDS = "hlo_op", "hlo_module", "_p", "_c"
_END = "end: "
"""What the name of the event begins with which says that an instruction of XLA has ended."""


@dataclass
class TraceEvent:
    """One interval on one thread.

    Attributes:
        kind: Its operator; empty for an instruction.
        module: That an instruction belongs to; empty for a node.
        end_ps: When the thread went on to something else.
        done_ps: When it was done: an instruction of XLA may be so later, on other threads.
    """

    name: str
    kind: str
    module: str
    start_ps: int
    end_ps: int
    line: int
    done_ps: int = 0
    inside_ps: int = 0

    def __post_init__(self) -> None:
        self.done_ps = max(self.done_ps, self.end_ps)


def read_events(space: Any) -> tuple[Sequence[TraceEvent], Sequence[TraceEvent]]:
    """Return the runs and the operators of an ``XSpace`` message, each in the order of their starts."""
    reader = _Reader()
    for plane in (plane for plane in space.planes if plane.name == _HOST):
        for place, line in enumerate(plane.lines):
            for event in line.events:
                reader.take(plane, line.timestamp_ns * 1000, place, event)
    for flow, event in reader.started.items():
        event.done_ps = max(event.done_ps, reader.ended.get(flow, 0))
    runs, operators = reader.runs, reader.operators
    return sorted(runs, key=lambda run: run.start_ps), sorted(operators, key=lambda event: event.start_ps)


def nest(events: Sequence[TraceEvent]) -> Sequence[TraceEvent]:
    """Return events in the order of their starts, with the time of those that lie within them on their threads."""
    ordered = sorted(events, key=lambda event: (event.start_ps, -event.end_ps))
    open_on: dict[int, list[TraceEvent]] = {}
    for event in ordered:
        around = open_on.setdefault(event.line, [])
        while around and around[-1].end_ps <= event.start_ps:
            around.pop()
        if around:
            around[-1].inside_ps += event.end_ps - event.start_ps
        around.append(event)
    return ordered


class _Reader:
    """Sorts events; what starts and what ends an instruction of XLA has the same number."""

    def __init__(self) -> None:
        self.runs: list[TraceEvent] = []
        self.operators: list[TraceEvent] = []
        self.started: dict[int, TraceEvent] = {}
        self.ended: dict[int, int] = {}

    def take(self, plane: Any, origin_ps: int, line: int, event: Any) -> None:
        reported = plane.event_metadata[event.metadata_id]
        start_ps = origin_ps + event.offset_ps
        interval = (start_ps, start_ps + event.duration_ps, line)
        if reported.name == RUN:
            self.runs.append(TraceEvent(RUN, RUN, "", *interval))
        elif reported.display_name and reported.name.endswith(f":{reported.display_name}"):
            name = reported.name.removesuffix(f":{reported.display_name}")
            self.operators.append(TraceEvent(name, reported.display_name, "", *interval))
        elif event.stats and not reported.display_name:
            stats = {plane.stat_metadata[stat.metadata_id].name: stat for stat in event.stats}
            self._instruction(plane, reported.name, stats, interval)

    def _instruction(self, plane: Any, name: str, stats: Mapping[str, Any], interval: tuple[int, int, int]) -> None:
        if name.startswith(_END) and _ENDS in stats:
            self.ended[_number(stats[_ENDS])] = interval[0]
        elif _INSTRUCTION in stats:
            module = _text(plane, stats[_MODULE]) if _MODULE in stats else ""
            event = TraceEvent(_text(plane, stats[_INSTRUCTION]), "", module, *interval)
            self.operators.append(event)
            if _STARTS in stats:
                self.started[_number(stats[_STARTS])] = event


def _number(stat: Any) -> int:
    number: int = stat.uint64_value or stat.int64_value
    return number


def _text(plane: Any, stat: Any) -> str:
    referred: str = plane.stat_metadata[stat.ref_value].name if stat.WhichOneof("value") == "ref_value" else ""
    return stat.str_value or referred


_NO_WORK = frozenset({"constant", "parameter"})
_LAYOUT = frozenset({"bitcast", "broadcast", "copy", "get-tuple-element", "reshape", "transpose", "tuple"})
"""What XLA puts between other instructions, under the name of a node that computes more than that."""
_NOT_EXECUTED = frozenset({"bitcast", "get-tuple-element", "tuple"})
_CALLS_INSIDE = frozenset({"call", "custom-call", "fusion"})
"""Instructions whose called computations are a part of them; the bodies of loops and branches are traced themselves."""
_WIDTHS = {"S": "int", "U": "uint", "F": "float", "BF": "bfloat", "C": "complex"}


@dataclass(frozen=True)
class Instruction:
    """One instruction of a compiled module.

    Attributes:
        nodes: Names of the nodes of the TensorFlow graph in it; those that an instruction before it has computed, and
            that it computes again for itself, are left out unless there are no others.
    """

    kind: str
    nodes: tuple[str, ...]
    inputs: tuple[TensorShape, ...]
    outputs: tuple[TensorShape, ...]
    operands: tuple[str, ...] = ()


def read_instructions(module: Any, type_name: Callable[[int], str]) -> Mapping[str, Instruction]:
    """Return the instructions of a module by their names, which are unique in it."""
    computations = {computation.id: computation for computation in module.computations}
    by_id = {
        instruction.id: instruction for computation in module.computations for instruction in computation.instructions
    }
    named: set[str] = set()
    instructions: dict[str, Instruction] = {}
    for instruction in _executed(module):
        operands = [by_id[operand] for operand in instruction.operand_ids]
        names = _nodes(instruction, computations)
        fresh = tuple(name for name in names if name not in named)
        named.update(names)
        instructions[instruction.name] = Instruction(
            kind=instruction.custom_call_target or instruction.opcode,
            nodes=fresh or names[-1:] or _of_constants(operands),
            inputs=tuple(shape for operand in operands for shape in _shapes(operand.shape, type_name)),
            outputs=tuple(_shapes(instruction.shape, type_name)),
            operands=tuple(dict.fromkeys(_executed_operands(instruction, by_id))),
        )
    return instructions


def _executed_operands(instruction: Any, by_id: Mapping[int, Any]) -> Iterator[str]:
    for operand in instruction.operand_ids:
        source = by_id[operand]
        if source.opcode in _NOT_EXECUTED:
            yield from _executed_operands(source, by_id)
        else:
            yield source.name


def _executed(module: Any) -> Iterator[Any]:
    """Give the instructions of all computations but those that are a part of an instruction, in their order."""
    parts = {
        called
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode in _CALLS_INSIDE
        for called in instruction.called_computation_ids
    }
    for computation in module.computations:
        if computation.id not in parts:
            yield from computation.instructions


def _nodes(instruction: Any, computations: Mapping[int, Any]) -> tuple[str, ...]:
    parts = [part for part in _parts(instruction, computations) if part.metadata.op_type and part.metadata.op_name]
    computed = [part for part in parts if part.opcode not in _LAYOUT] or parts
    return tuple(dict.fromkeys(part.metadata.op_name for part in computed))


def _parts(instruction: Any, computations: Mapping[int, Any]) -> Iterator[Any]:
    if instruction.opcode in _CALLS_INSIDE:
        for called in instruction.called_computation_ids:
            for inner in computations[called].instructions:
                yield from _parts(inner, computations)
    if instruction.opcode not in _NO_WORK:
        yield instruction


def _of_constants(operands: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of constants: an instruction that XLA made of another and did not name reads that one's."""
    names = (operand.metadata.op_name for operand in operands if operand.opcode == "constant")
    return tuple(dict.fromkeys(filter(None, names)))


def _shapes(shape: Any, type_name: Callable[[int], str]) -> Iterator[TensorShape]:
    if shape.tuple_shapes:
        for part in shape.tuple_shapes:
            yield from _shapes(part, type_name)
    else:
        yield TensorShape(_dtype(type_name(shape.element_type)), tuple(shape.dimensions))


def _dtype(name: str) -> str:
    letters = name.rstrip("0123456789")
    if name == "PRED":
        return "bool"
    return f"{_WIDTHS[letters]}{name.removeprefix(letters)}" if letters in _WIDTHS and letters != name else ""


_METADATA = "/host:metadata"
_HLO = "Hlo Proto"
_PS_PER_NS = 1000

Contained = Callable[[str], tuple[str, ...]]
"""Returns the names of the nodes of the original graph that a node of the executed one computes."""


def inferences_of(space: Any, count: int, contained: Contained) -> tuple[InferenceProfile, ...] | None:
    """Return the profiles of a trace's runs; ``None`` where they are not so many.

    What TensorFlow spends in a run outside of all its operators is one entry of its own. It traces no operators that it
    takes for cheap, such as ``Reshape``: their time is in there too.
    """
    runs, operators = read_events(space)
    if len(runs) != count:
        return None
    modules = dict(modules_of(space))
    return tuple(_TracedInference(run, operators, modules, contained).profile() for run in runs)


class _TracedInference:
    """One inference."""

    def __init__(
        self,
        run: TraceEvent,
        operators: Sequence[TraceEvent],
        modules: Mapping[str, Mapping[str, Instruction]],
        contained: Contained,
    ) -> None:
        self._run = run
        self._events = nest([event for event in operators if run.start_ps <= event.start_ps < run.end_ps])
        self._instructions = [self._instruction(event, modules, contained) for event in self._events]
        self._threads = {run.line: 0}

    def profile(self) -> InferenceProfile:
        self._correct_ends()
        timed = [self._operator(*pair) for pair in zip(self._events, self._instructions, strict=True)]
        return InferenceProfile((*timed, self._overhead()))

    def _instruction(
        self, event: TraceEvent, modules: Mapping[str, Mapping[str, Instruction]], contained: Contained
    ) -> Instruction:
        known = modules.get(event.module, {}).get(event.name)
        return known or Instruction(event.kind, () if event.module else contained(event.name), (), ())

    def _correct_ends(self) -> None:
        """Let instructions end where the first that reads them begins: XLA tells their ends after that."""
        begins: dict[str, list[int]] = defaultdict(list)
        for event, instruction in zip(self._events, self._instructions, strict=True):
            for operand in instruction.operands:
                begins[operand].append(event.start_ps)
        for event in self._events:
            after = [begin for begin in begins[event.name] if begin >= event.end_ps] if event.module else []
            event.done_ps = min((event.done_ps, *after))

    def _operator(self, event: TraceEvent, instruction: Instruction) -> OperatorTime:
        return OperatorTime(
            name=event.name,
            kind=instruction.kind,
            duration_ns=max(0, event.done_ps - event.start_ps - event.inside_ps) // _PS_PER_NS,
            nodes=instruction.nodes,
            start_ns=(event.start_ps - self._run.start_ps) // _PS_PER_NS,
            thread=self._threads.setdefault(event.line, len(self._threads)),
            inputs=instruction.inputs,
            outputs=instruction.outputs,
        )

    def _overhead(self) -> OperatorTime:
        run, busy_ps, reached = self._run, 0, self._run.start_ps
        for event in self._events:
            begin, end = max(reached, event.start_ps), min(run.end_ps, event.done_ps)
            if end > begin:
                busy_ps += end - begin
                reached = end
        left_ns = (run.end_ps - run.start_ps - busy_ps) // _PS_PER_NS
        return OperatorTime(RUN, RUN, left_ns, start_ns=0, thread=0, is_overhead=True)


def modules_of(space: Any) -> Iterator[tuple[str, Mapping[str, Instruction]]]:
    """Yield the modules of XLA that a trace describes, with their instructions by name."""
    for plane in space.planes:
        for described in plane.event_metadata.values() if plane.name == _METADATA else ():
            for stat in described.stats:
                if plane.stat_metadata[stat.metadata_id].name == _HLO:
                    yield _module(stat.bytes_value)


def _module(content: bytes) -> tuple[str, Mapping[str, Instruction]]:
    from tensorflow.compiler.xla import xla_data_pb2
    from tensorflow.compiler.xla.service import hlo_pb2

    module = hlo_pb2.HloProto.FromString(content).hlo_module
    return module.name, read_instructions(module, xla_data_pb2.PrimitiveType.Name)


_NODES_WITHOUT_WORK = frozenset({"Const", "NoOp", "Placeholder"})
_CALLED = re.compile(r".*/_\d+/")
"""What the names of nodes begin with that TensorFlow took from the body of a loop or of a function."""


class ProfiledGraphSession(GraphSession):
    """One session with one callable, traced between two calls."""

    def __init__(self, job: Job, session: GraphSession) -> None:
        super().__init__(session.session, session.call, session.effective)
        self._job = job
        self._trace: Any = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start_profile(self) -> None:
        """Start to trace."""
        from tensorflow.python.profiler.internal import _pywrap_profiler

        self._folder = tempfile.TemporaryDirectory(prefix="irbench-tf-profile-")
        self._trace = _pywrap_profiler.ProfilerSession()
        self._trace.start(self._folder.name, {})

    def finish_profile(self, inferences: int) -> Sequence[InferenceProfile]:
        """End the trace and return what it tells; see :class:`irbench.spi.ProfiledSession`."""
        from tensorflow.tsl.profiler.protobuf import xplane_pb2

        assert self._folder is not None
        self._trace.export_to_tb()
        space = xplane_pb2.XSpace()
        for file in Path(self._folder.name).rglob("*.xplane.pb"):
            space.MergeFromString(file.read_bytes())
        self._folder.cleanup()
        profiles = inferences_of(space, inferences, self._contained)
        if profiles is None:
            raise Refusal(
                f"TensorFlow's trace does not contain the {inferences} inferences that were made.",
                hint="It drops events where memory is short: profile fewer inferences.",
            )
        return profiles

    def close(self) -> None:
        """Close the session, and remove what was traced."""
        super().close()
        if self._folder is not None:
            self._folder.cleanup()

    def _contained(self, name: str) -> tuple[str, ...]:
        plain = _plain(name)
        if plain not in self._claims:
            self._claims[plain] = self._graph.claim((plain,)) or ((plain,) if self._graph.node(plain) else ())
        return self._claims[plain]

    @cached_property
    def _claims(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _graph(self) -> ContainedNodes:
        from tensorflow.core.framework import graph_pb2

        graph = graph_pb2.GraphDef.FromString(self._job.artifact.path.read_bytes())
        inner = [node for function in graph.library.function for node in function.node_def]
        nodes = [*graph.node, *inner]
        executed = frozenset(
            _plain(node.name) for part in executed_graphs(self._job, self.session) for node in part.node
        )
        return ContainedNodes(
            [_entry(node) for node in nodes if node.op not in _NODES_WITHOUT_WORK],
            weights=(node.name for node in nodes if node.op == "Const"),
            kept=executed,
        )


def _entry(node: Any) -> NodeEntry:
    inputs = tuple(reference.split(":")[0] for reference in node.input if not reference.startswith("^"))
    return NodeEntry(node.name, node.op, "", inputs, (node.name,))


def _plain(name: str) -> str:
    return _CALLED.sub("", name)
