"""The operators of each inference in a trace that TensorFlow's profiler wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irbench.spi import InferenceProfile, OperatorTime
from irbench_tf.hlo import Instruction, read_instructions

__all__ = ["inferences_of"]

_HOST, _METADATA = "/host:CPU", "/host:metadata"
_RUN = "SessionRun"
_INSTRUCTION, _MODULE, _HLO = "hlo_op", "hlo_module", "Hlo Proto"
_PS_PER_NS = 1000

Contained = Callable[[str], tuple[str, ...]]
"""Returns the names of the nodes of the original graph that a node of the executed one computes."""


@dataclass
class _Event:
    """One interval on one thread.

    Attributes:
        name: Of the node or the instruction.
        kind: Its operator; empty for an instruction.
        module: That an instruction belongs to; empty for a node.
        start_ps: On the trace's clock.
        end_ps: The same.
        line: Of the thread.
        inside_ps: Time of the events directly within it.
    """

    name: str
    kind: str
    module: str
    start_ps: int
    end_ps: int
    line: int
    inside_ps: int = 0


def inferences_of(space: Any, count: int, contained: Contained) -> tuple[InferenceProfile, ...] | None:
    """Return the profiles of a trace's runs; ``None`` where they are not so many.

    What TensorFlow spends in a run outside of all its operators is one entry of its own. It traces no operators that it
    takes for cheap, such as ``Reshape``: their time is in there too.

    Args:
        space: An ``XSpace`` message.
        count: How many inferences were made, one after the other.
        contained: See :data:`Contained`.
    """
    runs, operators = _read(space)
    if len(runs) != count:
        return None
    modules = dict(_modules(space))
    profiles: list[InferenceProfile] = []
    for run in runs:
        own = _nested([event for event in operators if run.start_ps <= event.start_ps < run.end_ps])
        threads = {run.line: 0}
        timed = [_operator(event, run, threads, modules, contained) for event in own]
        profiles.append(InferenceProfile((*timed, _overhead(run, own))))
    return tuple(profiles)


def _read(space: Any) -> tuple[list[_Event], list[_Event]]:
    """Return runs and operators, each in the order of their starts."""
    runs: list[_Event] = []
    operators: list[_Event] = []
    for plane in space.planes:
        if plane.name != _HOST:
            continue
        for place, line in enumerate(plane.lines):
            for event in line.events:
                _sort_in(plane, line.timestamp_ns * _PS_PER_NS, place, event, runs, operators)
    return sorted(runs, key=lambda run: run.start_ps), sorted(operators, key=lambda event: event.start_ps)


def _sort_in(plane: Any, origin_ps: int, line: int, event: Any, runs: list[_Event], operators: list[_Event]) -> None:
    told = plane.event_metadata[event.metadata_id]
    start_ps = origin_ps + event.offset_ps
    interval = (start_ps, start_ps + event.duration_ps, line)
    if told.name == _RUN:
        runs.append(_Event(_RUN, _RUN, "", *interval))
    elif told.display_name and told.name.endswith(f":{told.display_name}"):
        operators.append(_Event(told.name.removesuffix(f":{told.display_name}"), told.display_name, "", *interval))
    elif event.stats and not told.display_name:
        stats = {plane.stat_metadata[stat.metadata_id].name: _text(plane, stat) for stat in event.stats}
        if stats.get(_INSTRUCTION):
            operators.append(_Event(stats[_INSTRUCTION], "", stats.get(_MODULE, ""), *interval))


def _text(plane: Any, stat: Any) -> str:
    referred: str = plane.stat_metadata[stat.ref_value].name if stat.WhichOneof("value") == "ref_value" else ""
    return stat.str_value or referred


def _nested(events: Sequence[_Event]) -> Sequence[_Event]:
    """Return events in the order of their starts, with the time of those that lie within them."""
    ordered = sorted(events, key=lambda event: (event.start_ps, -event.end_ps))
    open_on: dict[int, list[_Event]] = {}
    for event in ordered:
        around = open_on.setdefault(event.line, [])
        while around and around[-1].end_ps <= event.start_ps:
            around.pop()
        if around:
            around[-1].inside_ps += event.end_ps - event.start_ps
        around.append(event)
    return ordered


def _operator(
    event: _Event,
    run: _Event,
    threads: dict[int, int],
    modules: Mapping[str, Mapping[str, Instruction]],
    contained: Contained,
) -> OperatorTime:
    instruction = modules.get(event.module, {}).get(event.name)
    if instruction is None:
        instruction = Instruction(event.kind, () if event.module else contained(event.name), (), ())
    return OperatorTime(
        name=event.name,
        kind=instruction.kind,
        duration_ns=max(0, event.end_ps - event.start_ps - event.inside_ps) // _PS_PER_NS,
        nodes=instruction.nodes,
        start_ns=(event.start_ps - run.start_ps) // _PS_PER_NS,
        thread=threads.setdefault(event.line, len(threads)),
        inputs=instruction.inputs,
        outputs=instruction.outputs,
    )


def _overhead(run: _Event, operators: Sequence[_Event]) -> OperatorTime:
    """Return the part of a run in which no thread is in an operator."""
    busy_ps, reached = 0, run.start_ps
    for event in operators:
        begin, end = max(reached, event.start_ps), min(run.end_ps, event.end_ps)
        if end > begin:
            busy_ps += end - begin
            reached = end
    left_ns = (run.end_ps - run.start_ps - busy_ps) // _PS_PER_NS
    return OperatorTime(_RUN, _RUN, left_ns, start_ns=0, thread=0, is_overhead=True)


def _modules(space: Any) -> Iterator[tuple[str, Mapping[str, Instruction]]]:
    """Give the modules that XLA compiled, by the names that events call them."""
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
