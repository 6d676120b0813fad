"""Count what whole models and single operators of a profile do, in launches of their own after the profiled ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TypeAlias

import numpy as np

from irbench.core.activity import Activity
from irbench.core.counter_row import CountedLaunch, counted_with
from irbench.core.feeds import write_sample
from irbench.core.record import Failure
from irbench.core.row import LaunchesStop
from irbench.errors import IrbenchError
from irbench.features.counters.run import count_cell
from irbench.features.profile.counters.counted_operators import (
    MOST_KINDS,
    SHARE,
    NodeSet,
    OperatorKind,
    PlacedNodes,
    chosen_kinds,
    node_sets,
)
from irbench.features.profile.joining import JoinedCell, joined_cells
from irbench.features.profile.launches import ProfileTask
from irbench.features.profile.profile_document import CountedPart, ProfileCounters, ProfiledCell, ProfileDocument
from irbench.features.reduce.cutting import Cut, CutRequest, GraphPart, GraphSource, cut_parts
from irbench.measure.clock import Stopwatch
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.probe_graph import identity
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.perf_events.counter_plan import Counting
from irbench.runner.plan import PlannedGroup, other_form, with_rows
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.rounds import Rounds
from irbench.runner.run_progress import Listener
from irbench.runner.workers import CellFailed, Setting
from irbench.spec import BATCH, Artifact, Bundle, Cell, Feeding, Group, InputSpec, TensorSpec, Timing, Workload
from irbench.system.signals import signals_deferred
from irbench.worker.failures import unreadable_answer
from irbench.worker.model_files import read_file

Keep: TypeAlias = Callable[[ProfileCounters], None]
"""Stores counters after each round of launches."""


def counted_profile(
    task: ProfileTask, document: ProfileDocument, budget_s: float, listen: Listener, keep: Keep
) -> ProfileCounters:
    """Count the whole model and the operators of each class, in each cell that was profiled.

    An interrupt ends it; what was counted is returned.
    """
    counting = task.request.counting
    assert counting is not None
    watch, timing = Stopwatch(), task.request.timing
    begun = counted_with(
        ProfileCounters,
        counting,
        planned=counting.plan.launches,
        share=SHARE,
        most_kinds=MOST_KINDS,
        confidence=timing.confidence,
    )
    try:
        models, begun = _models(_profiled_cells(task.planned, document), begun, task.scratch / "parts")
    except KeyboardInterrupt:
        return replace(begun, stopped_by="interrupt", seconds=watch.elapsed_s)
    left_s = budget_s - watch.elapsed_s
    counted = CountingTask(
        model=document.model,
        parts=models,
        counting=counting,
        timing=replace(timing, budget=left_s),
        budget_s=left_s,
        seed=task.request.asked.seed,
        scratch=task.scratch / "counted",
        logs=task.logs,
    )
    cutting_s = watch.elapsed_s

    def with_cutting(counters: ProfileCounters) -> ProfileCounters:
        return replace(counters, seconds=cutting_s + counters.seconds)

    return with_cutting(count_parts(counted, begun, listen, lambda counters: keep(with_cutting(counters))))


@dataclass(frozen=True)
class CellToCount:
    """A cell as it was profiled."""

    joined: JoinedCell
    cell: Cell
    planned: PlannedGroup
    kinds: Mapping[str, OperatorClass]

    @property
    def workload(self) -> Workload:
        """Its group's."""
        return self.planned.group.workload_of(self.cell)

    @property
    def source(self) -> GraphSource | None:
        """The graph that its operators are cut out of; ``None`` where it runs none that can be cut."""
        (planned,) = with_rows(self.planned, [self.cell.id]).group.cells
        if planned.artifact is None or planned.artifact.kind != "onnx":
            return None
        return GraphSource(planned.artifact, self.workload.bundle, dict(self.workload.sizes), self.workload.feeding)

    @property
    def model(self) -> PartModel:
        """The whole model."""
        own_row = with_rows(self.planned, [self.cell.id])
        group = replace(own_row.group, cells=(replace(self.cell, workload=0),))
        return PartModel(CountedPart(self.cell.id, self.cell.id, "model"), replace(own_row, group=group))


def _profiled_cells(planned: PlannedGroup, document: ProfileDocument) -> Iterator[CellToCount]:
    cells = {cell.id: cell for cell in planned.group.cells}
    for joined in joined_cells(document):
        if joined.cell.launches and joined.cell.failure is None:
            cell = _as_profiled(cells[joined.cell.id], joined.cell, planned)
            yield CellToCount(joined, cell, planned, document.kinds.get(cell.backend, {}))


def _as_profiled(cell: Cell, profiled: ProfiledCell, planned: PlannedGroup) -> Cell:
    """Return a cell with the form of its graph that its runtime did not refuse."""
    other = other_form(cell, planned.others)
    return other if other is not None and other.label == profiled.label else cell


def _models(
    cells: Iterator[CellToCount], begun: ProfileCounters, folder: Path
) -> tuple[tuple[PartModel, ...], ProfileCounters]:
    """Return the whole model of each cell, its calls, and its operators, those first that take longest."""
    timed: list[tuple[float, PartModel]] = []
    for place, cell in enumerate(cells):
        timed.append((math.inf, cell.model))
        if cell.source is None:
            begun = replace(begun, whole_only=(*begun.whole_only, cell.cell.id))
        try:
            models = list(_operator_models(cell, folder / str(place)))  # all or, where cutting fails, none
        except IrbenchError as error:
            failure = Failure("plan", error.message, error.hint or None)
            begun = replace(begun, failures={**begun.failures, cell.cell.id: failure})
        else:
            timed += [(time_ns, model) for time_ns, model in models if isinstance(model, PartModel)]
            uncut = [part for _, part in models if isinstance(part, CountedPart)]
            begun = replace(begun, parts=(*begun.parts, *uncut))
    return tuple(model for _, model in sorted(timed, key=lambda pair: -pair[0])), begun


def _operator_models(cell: CellToCount, folder: Path) -> Iterator[tuple[float, PartModel | CountedPart]]:
    """Yield the operators of a cell that are counted, as models of their own, with the time of all that are equal.

    Those that cannot stand alone are parts without a model. Before them comes a model that does nothing: each of theirs
    has such a call in it.
    """
    source = cell.source
    if source is None:
        return
    placed = _placed(source, node_sets(cell.joined, cell.kinds))
    kinds = chosen_kinds(cell.joined, {nodes: place.key for nodes, place in placed.items()})
    if kinds:
        folder.mkdir(parents=True, exist_ok=True)
        call = CountedPart(f"{cell.cell.id}-call", cell.cell.id, "call")
        yield math.inf, _model(cell, call, identity(folder), Feeding())
    for number, (kind, part) in enumerate(zip(kinds, cut_kinds(source, kinds, placed, folder), strict=True)):
        counted = _operators(cell, kind, number)
        if isinstance(part, GraphPart):
            yield kind.time_ns, _operator_model(cell, counted, part)
        else:
            yield kind.time_ns, replace(counted, uncuttable=part)


def _placed(source: GraphSource, sets: Sequence[NodeSet]) -> Mapping[NodeSet, PlacedNodes]:
    """Return those sets of nodes that can be cut out of a graph, and where they are in it."""
    inputs = tuple(spec.bind(source.sizes) for spec in source.artifact.inputs)
    target = "irbench.features.profile.counters.counted_operators:placed_nodes"
    names = [each.nodes for each in sets]
    placed: tuple[PlacedNodes | None, ...] = read_file(
        target, source.artifact.path, inputs, names, returns=tuple[PlacedNodes | None, ...], imports=("onnx",)
    )
    if len(placed) != len(sets):
        raise unreadable_answer(f"it has {len(placed)} sets of nodes, and {len(sets)} were asked for.")
    return {nodes: place for nodes, place in zip(sets, placed, strict=True) if place is not None}


def cut_kinds(
    source: GraphSource, kinds: Sequence[OperatorKind], placed: Mapping[NodeSet, PlacedNodes], folder: Path
) -> Sequence[Cut]:
    """Write one model for each kind, with the values that the whole graph has at its inputs."""
    values = folder.with_name(f"values-{sha256(str(source.artifact.path).encode()).hexdigest()[:16]}")
    requests = [
        CutRequest(source, placed[kind.sets[0]].places, folder / str(number), values)
        for number, kind in enumerate(kinds)
    ]
    return cut_parts(requests) if requests else ()


def _operators(cell: CellToCount, kind: OperatorKind, number: int) -> CountedPart:
    name = f"{cell.cell.id}-part{number}"
    return CountedPart(name, cell.cell.id, "operators", kind.operators, kind.sets[0].nodes, len(kind.sets))


def _operator_model(cell: CellToCount, counted: CountedPart, part: GraphPart) -> PartModel:
    inputs = tuple(TensorSpec(facts.name, facts.dtype, facts.shape) for facts in part.inputs)
    outputs = tuple(TensorSpec(facts.name, facts.dtype, facts.shape) for facts in part.outputs)
    feeding = Feeding(samples=(_sample(part, inputs),))
    return _model(cell, counted, Artifact("onnx", part.model, inputs, outputs), feeding)


def _model(cell: CellToCount, counted: CountedPart, graph: Artifact, feeding: Feeding) -> PartModel:
    """Return a model that is run as the whole model is."""
    whole = cell.cell
    assert whole.artifact is not None
    artifact = replace(
        whole.artifact, path=graph.path, inputs=graph.inputs, outputs=graph.outputs, sha256="", files=None
    )
    bundle = Bundle(counted.id, tuple(map(InputSpec, graph.inputs)), (artifact,))
    workload = Workload(bundle, {BATCH: cell.workload.batch}, feeding)
    # a part may hold no value of the precision that was asked for; backends leave native alone where it is required
    is_native = whole.load.precision == "native"
    load = replace(whole.load, precision_required=whole.load.precision_required and is_native)
    own = replace(whole, id=counted.id, artifact=artifact, load=load, workload=0, dynamic=False, work=None)
    return PartModel(counted, PlannedGroup(Group((workload,), (own,), own.id)))


def _sample(part: GraphPart, inputs: Sequence[TensorSpec]) -> Path:
    """Write the values at the inputs of a part as a sample, and return its file."""
    path = part.data.with_name("sample.npz")
    with np.load(part.data, allow_pickle=False) as values:
        arrays = {spec.name: values[spec.name].astype(numpy_dtype(spec.dtype)) for spec in inputs}
    write_sample(path, tuple(map(InputSpec, inputs)), arrays)
    return path


@dataclass
class PartModel:
    """A part, and the model that is launched to count it.

    Attributes:
        planned: A table of one cell.
    """

    part: CountedPart
    planned: PlannedGroup


@dataclass(frozen=True)
class CountingTask:
    """What is counted, and how.

    Attributes:
        parts: In the order of the first round, in which time may run out: the ones that take longest first.
        budget_s: No launch begins that would end later, judged by the longest one before; the first always runs.
        seed: Of the order of the other rounds.
    """

    model: str
    parts: Sequence[PartModel]
    counting: Counting
    timing: Timing
    budget_s: float
    seed: int
    scratch: Path
    logs: Path


def count_parts(task: CountingTask, begun: ProfileCounters, listen: Listener, keep: Keep) -> ProfileCounters:
    """Launch every part in rounds until there are enough, or the time is up, and return the counters.

    An interrupt ends it; every finished launch is in the counters.
    """
    return _Counting(task, begun, listen, keep).run()


class _Counting:
    def __init__(self, task: CountingTask, begun: ProfileCounters, listen: Listener, keep: Keep) -> None:
        self._task = task
        self._counters = begun
        self._never_launched = begun.parts
        self._keep = keep
        self._rounds = Rounds(
            model=task.model,
            most=task.counting.plan.launches,
            budget_s=task.budget_s,
            seed=f"counted parts/{task.seed}",
            listen=listen,
        )
        self._counted = [replace(model) for model in task.parts]
        self._folders = count()
        self._longest_s = 0.0

    def run(self) -> ProfileCounters:
        """Count, and return the counters, which are kept too."""
        self._task.scratch.mkdir(parents=True, exist_ok=True)
        try:
            stopped_by = self._launch_all()
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        with signals_deferred():  # who interrupts once more must not lose what the first one kept
            self._commit(stopped_by)
        return self._counters

    @property
    def _able(self) -> list[PartModel]:
        return [counted for counted in self._counted if counted.part.failure is None]

    def _launch_all(self) -> LaunchesStop:
        """Launch in rounds, of which also the first ends when the time is up: parts may be hundreds."""
        while self._able and self._rounds.finished < self._rounds.most:
            turns = self._able
            if self._rounds.finished:
                self._rounds.random.shuffle(turns)
            for counted in turns:
                if self._longest_s and self._rounds.watch.elapsed_s + self._longest_s > self._rounds.budget_s:
                    return "budget"
                self._launch(counted)
            self._rounds.end(lambda: self._commit("unfinished"))
        return "launches" if self._able else "failures"

    def _launch(self, counted: PartModel) -> None:
        watch, planned = Stopwatch(), counted.planned
        (cell,) = planned.group.cells
        self._rounds.say(Activity("counted-launch", cell.label))
        # the answers of the whole model were compared with the expected ones when it was profiled
        setting = Setting(planned, self._task.timing, self._task.logs, ReferenceOutputs(None, None), self._rounds.watch)
        folder = self._task.scratch / str(next(self._folders))
        try:
            phases = count_cell(cell, setting, self._task.counting, folder)
            launch = CountedLaunch(self._rounds.finished, phases.counts, phases.nodes_missing)
            counted.part = replace(counted.part, launches=(*counted.part.launches, launch))
        except CellFailed as failed:
            counted.part = replace(counted.part, failure=failed.failure)
        self._longest_s = max(self._longest_s, watch.elapsed_s)

    def _commit(self, stopped_by: LaunchesStop) -> None:
        self._counters = replace(
            self._counters,
            parts=(*(counted.part for counted in self._counted), *self._never_launched),
            stopped_by=stopped_by,
            seconds=self._rounds.watch.elapsed_s,
        )
        self._keep(self._counters)
