"""The operators of each inference in a trace that TensorFlow's profiler wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from irbench.spi import InferenceProfile, OperatorTime
from irbench_tf.hlo import Instruction, read_instructions
from irbench_tf.trace_events import RUN, TraceEvent, nest, read_events

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
    modules = dict(_modules(space))
    return tuple(_Run(run, operators, modules, contained).profile() for run in runs)


class _Run:
    """One inference.

    Args:
        run: The event of the whole.
        operators: Those of all runs.
        modules: What XLA compiled, by name.
        contained: See :data:`Contained`.
    """

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
