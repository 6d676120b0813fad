"""One launch of a group: fresh workers, warm-up, interleaved blocks, and the record of all of it."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Self, TypeVar

from irbench.core import registry
from irbench.core.activity import Activity
from irbench.core.address import is_gpu
from irbench.core.output_check import fingerprint
from irbench.core.record import BlockEvidence, EnergyReading, Failure, LaunchRecord, OutputError, Sustained
from irbench.core.row import cell_names
from irbench.measure import freeze
from irbench.measure.clock import Stopwatch, sleep
from irbench.measure.core_to_core import CoreLink
from irbench.measure.disturbances import (
    MachineSnapshot,
    cpu_pressure,
    foreign_cpu_ns,
    foreign_cpu_of_turn_ns,
    glance,
    snapshot,
)
from irbench.measure.energy import NVIDIA_GPU, EnergyMeter, find_energy_counters
from irbench.measure.gpu_evidence import read_gpus
from irbench.measure.nvml import free_memory_bytes, gpus_of_rows, model_of, used_memory_bytes
from irbench.runner.launch_size import Forecast, Starts, Tempo, choose_tempo
from irbench.runner.launch_state import (
    CellProgress,
    GroupTooLarge,
    LaunchInputs,
    LaunchPlan,
    needs_split,
    needs_split_on_gpu,
)
from irbench.runner.neighbours import Neighbours
from irbench.runner.plan import GraphRefused, other_form
from irbench.runner.reference import changed, fallback, require_answers, worse, worst_error, wrongness
from irbench.runner.workers import Workers
from irbench.spec import Cell, Deadline, Objective, Scalar, Timing
from irbench.spec.training import BEGINNING_CALLS, BEGINNINGS, TrainingArtifact
from irbench.spi import Outputs
from irbench.stats.blocks import processors_in_use
from irbench.stats.launch_planning import (
    SIDE_BY_SIDE,
    behind,
    block_order,
    fewest_blocks,
    needs_more_blocks,
    settle_calls,
)
from irbench.stats.observed import clean_blocks, round_cost_ns, time_per_completion_ns
from irbench.stats.warm_up import calls_of_later_launches
from irbench.system import host
from irbench.worker.cell import CellTask
from irbench.worker.feed_turns import takes_turns
from irbench.worker.warming import WarmUpRequest


class LaunchCheck:
    """Compares what cells answer with the reference: before, between and after the blocks.

    Attributes:
        gone_bad: Ids of cells that left because outputs were wrong that could be compared: how far off they were
            belongs into the record.
    """

    def __init__(
        self,
        plan: LaunchPlan,
        new: Collection[str],
        workers: Workers,
        progress: Mapping[str, CellProgress],
        launch: int = 0,
    ) -> None:
        self._plan = plan
        self._new = new
        self._workers = workers
        self._progress = progress
        self._launch = launch
        self._wrong_at_first: set[str] = set()
        self.gone_bad: set[str] = set()

    def wants(self, cell: Cell) -> bool:
        """Whether a cell answers before it is timed: in its first launch."""
        return cell.id in self._new and self._plan.expected[cell.workload].outputs is not None

    @property
    def answers(self) -> int:
        """How often each cell answers once more after the blocks."""
        return max((cell.load.concurrency for cell in self._workers.cells if self._wants_again(cell)), default=0)

    def _wants_again(self, cell: Cell) -> bool:
        """Whether a cell answers once more: in its first launch, and in each where timed calls show no outputs."""
        is_command = cell.program is not None and cell.program.kind == "command"
        is_hidden = is_command or bool(self._plan.group.workload_of(cell).feeding.feedback)
        return self.wants(cell) or (is_hidden and self._plan.expected[cell.workload].outputs is not None)

    def first(self, cell: Cell, answers: Sequence[Outputs]) -> None:
        """Compare the answers of all streams to the first sample, then those to every other call that is checked."""
        if not self.wants(cell):
            return
        try:
            error = self._compared(cell, answers, cell.load.concurrency)
            feeding = self._plan.group.workload_of(cell).feeding
            for call in range(feeding.checked_calls if takes_turns(feeding) else 0):
                if cell in self._workers.cells:
                    answered = self._workers.ask(cell.id, "verify", "answer_call", call)
                    error = worse(error, self._compared(cell, answered, cell.load.instances, call))
        except ValueError as problem:
            self._workers.dismiss(cell.id, Failure("verify", str(problem)))
            return
        self._progress[cell.id].output_error = error
        if self._wrongness(cell, error) is not None:
            self._wrong_at_first.add(cell.id)

    def timed(self, cell: Cell, turn: int, where: str) -> None:
        """Compare the outputs of the last timed call of a cell, which leaves where they are wrong and were right.

        Args:
            cell: It has just been timed.
            turn: Its slots take turns.
            where: When that was, as the end of a sentence.
        """
        expected = self._plan.expected[cell.workload].outputs
        if expected is None or cell not in self._workers.cells or cell.id in self._wrong_at_first:
            return
        right = frozenset(self._plan.right.get(cell.id, ()))
        for response in self._workers.ask(cell.id, "second answer", "last_responses", turn, right) or ():
            self._keep_if_right(cell, [response.outputs], 1, where, response.call)

    def again(self, cell: Cell) -> None:
        """Have a cell answer once more now that it was measured: some answer rightly only at first."""
        if self._wants_again(cell) and cell in self._workers.cells:
            answers = self._workers.ask(cell.id, "second answer", "answer_again")
            self._keep_if_right(cell, answers, cell.load.concurrency, "after the last block")

    def _keep_if_right(
        self, cell: Cell, answers: Sequence[Outputs] | None, count: int, where: str, call: int = 0
    ) -> None:
        progress, error = self._progress[cell.id], None
        try:
            error = self._compared(cell, answers, count, call)
            wrong = self._wrongness(cell, error)
        except ValueError as problem:
            wrong = Failure("verify", str(problem))
        progress.repeat_error = worse(progress.repeat_error, error)
        if wrong is None or cell.id in self._wrong_at_first or cell not in self._workers.cells:
            return
        if error is not None:
            self.gone_bad.add(cell.id)
        self._workers.dismiss(cell.id, changed(wrong, f"{where} of launch {self._launch + 1}"))

    def _wrongness(self, cell: Cell, error: OutputError | None) -> Failure | None:
        prepared = self._progress[cell.id].prepared
        return None if error is None else wrongness(error, cell, {} if prepared is None else prepared.effective)

    def _compared(self, cell: Cell, answers: Sequence[Outputs] | None, count: int, call: int = 0) -> OutputError | None:
        """Return how far answers to a call are from the reference; ``None`` where there are none to compare.

        Raises:
            ValueError: They cannot be compared. The message is a sentence for the cell's row.
        """
        expected = self._plan.expected[cell.workload]
        if expected.outputs is None or answers is None:
            return None
        require_answers(answers, count, cell)
        if not answers:
            return None
        bundle = self._plan.group.workload_of(cell).bundle
        error = worst_error(answers, expected.outputs[call], bundle, expected.scale)
        if self._wrongness(cell, error) is None:
            self._plan.right.setdefault(cell.id, set()).update(fingerprint(answer, call) for answer in answers)
        return error


T = TypeVar("T")


class LaunchEnergy:
    """Reads energy where the protocol asks for it, and nothing otherwise."""

    def __init__(self, timing: Timing) -> None:
        self._idle_s = timing.idle
        self._meter = EnergyMeter(find_energy_counters().counters) if timing.energy else None

    def while_idle(self) -> EnergyReading | None:
        """Return the energy of the protocol's idle time, in which all workers are frozen; ``None`` where not asked."""
        return self._meter.during(partial(sleep, self._idle_s))[1] if self._meter is not None else None

    def while_alone(self, action: Callable[[], T], *, on_nvidia: bool) -> tuple[T, EnergyReading | None]:
        """Let a cell run alone, and return what it returned, with the energy that its parts of the machine used."""
        if self._meter is None:
            return action(), None
        result, reading = self._meter.during(action)
        return result, reading if on_nvidia else _without_nvidia_gpus(reading)


def _is_on_nvidia_gpu(cell: Cell) -> bool:
    if cell.device == "cpu" or cell.program is not None:
        return False
    return cell.device in registry.describe(registry.BACKENDS, cell.backend).nvidia_devices


def _without_nvidia_gpus(reading: EnergyReading) -> EnergyReading:
    kept = {domain: used for domain, used in reading.microjoules.items() if not domain.startswith(NVIDIA_GPU)}
    return replace(reading, microjoules=kept)


def timed_cells(
    cells: Sequence[Cell], progress: Mapping[str, CellProgress], objective: Objective, timing: Timing
) -> tuple[str, ...]:
    """Return the ids of the cells that the next block times: all but those that the first one showed far behind."""
    timed = tuple(cell.id for cell in cells)
    if not timing.behind or not all(progress[cell].rounds for cell in timed):
        return timed
    cost_ns = round_cost_ns(objective)
    first = {
        cell.id: cost_ns(progress[cell.id].as_launch(cell, 0), progress[cell.id].rounds[0], cell.load.batch)
        for cell in cells
    }
    dropped = behind(first, timing)
    return tuple(cell for cell in timed if cell not in dropped)


def block_evidence(
    number: int, order: tuple[str, ...], between: tuple[MachineSnapshot, MachineSnapshot], link: CoreLink | None = None
) -> BlockEvidence:
    """Return the evidence of a block."""
    before, after = between
    return BlockEvidence(
        block=number,
        order=order,
        wall_ns=after.at_ns - before.at_ns,
        foreign_cpu_ns=foreign_cpu_ns(before, after),
        throttled_ns=after.throttled_ns - before.throttled_ns,
        steal_ns=after.steal_ns - before.steal_ns,
        core_to_core_ns=None if link is None else link.core_to_core_ns(),
    )


Say = Callable[[Activity], None]

_FREE_ON_A_GPU = Failure(
    "device",
    "`--objective cost` is processor time, and this code computes on a GPU: the row would look free",
    "Leave --objective out to compare their speed, or leave the row out.",
)
_SLOWDOWN = 3.0
"""A request may take so many times as long as the warm-up foretells, and the protocol's deadline on top."""
_WARM_UP_SHARE = 0.25
"""Of a launch's time, what the warm-ups of its cells may take together before they make do with fewer calls."""
_MARGIN = 1.1
"""Beyond the forecast, the budget that is suggested: rounds take longer where blocks are disturbed."""


class Launch:
    """Fresh workers for the cells that have not failed. Use it as a context manager: it ends them."""

    def __init__(
        self,
        plan: LaunchPlan,
        inputs: LaunchInputs,
        link: CoreLink,
        say: Say,
        sized: Callable[[Tempo], None] = lambda _tempo: None,
    ) -> None:
        self._sized = sized
        self._plan = plan
        self._timing = plan.timing  # that of this launch, once the warm-up has shown the speeds
        self._inputs = inputs
        self._number = inputs.number
        self._link = link
        self._say = say
        self._random = random.Random(f"{plan.seed}/{plan.number}/{inputs.number}")  # noqa: S311 - order, not secrecy
        self._progress = {cell.id: CellProgress() for cell in inputs.cells}
        self._names = cell_names(plan.group)
        self._watch = Stopwatch()
        self._together_s = 0.0  # of the start, what cells had side by side
        self._workers = Workers((self._task(cell) for cell in inputs.cells), plan.logs, self._deadline)
        self._beside = {cell.id: cell.load.beside for cell in inputs.cells}
        present = (neighbour for neighbour in self._beside.values() if neighbour is not None)
        self._neighbours = Neighbours(present, plan.neighbours, plan.logs, self._deadline)
        self._energy = LaunchEnergy(plan.timing)
        self._on_gpu = frozenset(cell.id for cell in inputs.cells if is_gpu(cell.device))
        self._on_nvidia = frozenset(cell.id for cell in inputs.cells if _is_on_nvidia_gpu(cell))
        may_use_gpus = self._on_nvidia or any(cell.program is not None for cell in inputs.cells)
        self._gpus, self._gpu_absence = gpus_of_rows() if may_use_gpus else ((), "no-driver")
        self._check = LaunchCheck(plan, inputs.new, self._workers, self._progress, inputs.number)

    def measure(self) -> tuple[LaunchRecord, Tempo]:
        """Run the launch and return its record, with the tempo that its warm-up allowed.

        Raises:
            GroupTooLarge: Not all of the group's cells fit into memory together.
            GraphRefused: A cell can run the other form of its graph only.
        """
        self._say(Activity("starting"))
        self._start_all()
        self._start_neighbours()
        tempo = choose_tempo(self._inputs, self._forecast, self._starts(), self._plan.group.feeds)
        self._sized(tempo)
        self._tell_over_budget(tempo)
        self._timing = tempo.timing
        blocks = self._measure_blocks(tempo)
        if self._timing.beginnings:
            self._take_beginnings()
        if self._timing.tail:
            self._take_tails()
        if self._timing.pace:
            self._take_paces()
        idle_energy = self._energy.while_idle()
        sustained = self._run_alone() if self._timing.sustain else ()
        for cell in self._workers.cells:
            self._progress[cell.id].run_peak_bytes = self._workers.ask(cell.id, "measure", "peak_memory_bytes")
            self._progress[cell.id].run_private_bytes = self._workers.ask(cell.id, "measure", "private_memory_bytes")
            if cell.id in self._on_gpu:
                self._workers.ask(cell.id, "device", "require_same_device")
            self._check.again(cell)
        return replace(self._record(blocks, sustained), idle_energy=idle_energy), tempo

    def _tell_over_budget(self, tempo: Tempo) -> None:
        """Say in the first launch, once the speed of all its cells is known, which budget intervals take if more."""
        if not self._number and tempo.late_s > 0:
            needed_s = math.ceil(self._timing.before_s + _MARGIN * (self._timing.budget + tempo.late_s))
            self._say(Activity("over-budget", needed_s=needed_s))

    def _record(self, blocks: tuple[BlockEvidence, ...], sustained: tuple[Sustained, ...]) -> LaunchRecord:
        return LaunchRecord(
            group=self._plan.number,
            launch=self._number,
            cells=tuple(
                self._progress[cell.id].as_launch(cell, self._workers.started_ns[cell.id])
                for cell in self._inputs.cells
                if cell in self._workers.cells or cell.id in self._check.gone_bad
            ),
            failures=dict(self._workers.failures),
            blocks=blocks,
            sustained=sustained,
            load_average=os.getloadavg()[0],
            pressure=cpu_pressure(),
            frozen=freeze.SUPPORTED,
            processors=self._processors,
        )

    def _starts(self) -> Starts:
        """Return what this launch took until now, and what later ones will: their cells may start side by side."""
        now_s = self._watch.elapsed_s
        warmed = [own.warmed for own in self._progress.values() if own.warmed is not None]
        # a first warm-up looks farther than later ones do
        later_s = now_s - sum(
            max(0.0, own.phases_ns.get("warm_up", 0) / 1e9 - own.repeat_s) for own in warmed if own.repeat_s is not None
        )
        if self._inputs.new and self._together():
            later_s = self._together_s + SIDE_BY_SIDE * (later_s - self._together_s)
        return Starts(now_s, later_s)

    @property
    def _forecast(self) -> Forecast:
        speeds = {cell.id: self._progress[cell.id].speed for cell in self._workers.cells}
        beginnings_s = sum(map(self._beginnings_s, self._workers.cells))
        return Forecast(self._timing, speeds, self._check.answers, beginnings_s, self._on_gpu)

    def _run_alone(self) -> tuple[Sustained, ...]:
        runs = self._forecast.runs_alone(self._plan.group, self._number)
        runs_taken: list[Sustained] = []
        cells = list(self._workers.cells)
        self._random.shuffle(cells)
        for cell in cells:
            self._say(Activity("alone", self._names[cell.id]))
            plan, patience_s = runs[cell.id], self._patience_s(runs[cell.id].expected_s)
            arguments = (plan.seconds, plan.samples, plan.first)
            run, energy = self._energy.while_alone(
                partial(self._workers.ask, cell.id, "sustained run", "alone", *arguments, deadline_s=patience_s),
                on_nvidia=cell.id in self._on_nvidia,
            )
            if run is not None:
                runs_taken.append(replace(run, cell=cell.id, energy=energy))
            self._check.timed(cell, self._number, "in the run alone")
        return tuple(runs_taken)

    def close(self) -> None:
        """End the workers, and what runs beside them."""
        self._neighbours.close()
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _task(self, cell: Cell) -> CellTask:
        workload = self._plan.group.workload_of(cell)
        return CellTask(cell, workload if cell.dynamic else replace(workload, other_sizes=()), self._timing)

    def _start_all(self) -> None:
        """Bring every cell to its first block: one by one where some are new, otherwise side by side where they may."""
        if self._inputs.new:
            trained = {cell.id for cell in self._inputs.cells if isinstance(cell.artifact, TrainingArtifact)}
            self._workers.start(trained)  # of these the first step is reported, and no start
            self._together_s = self._watch.elapsed_s if len(trained) == len(self._inputs.cells) else 0.0
        else:
            for cell, prepared in self._workers.start_and_prepare(self._together()).items():
                self._progress[cell].prepared = prepared
        self._warm_up_all()

    def _together(self) -> frozenset[str]:
        """Return the cells that may compile side by side.

        Those on the CPU, where all fit into memory at once: on other devices runtimes choose kernels by timing them.
        """
        if self._inputs.peak_bytes is not None and self._inputs.peak_bytes > host.available_memory_bytes():
            return frozenset()
        has_gpus = self._gpu_absence != "no-driver"  # which code of the user's may use
        return frozenset(
            cell.id for cell in self._inputs.cells if cell.device == "cpu" and not (has_gpus and cell.program)
        )

    def _warm_up_all(self) -> None:
        cells = list(self._workers.cells)
        self._random.shuffle(cells)
        peaks: list[int] = []
        taken_of_gpu: list[int] = []
        warm: dict[str, CellProgress] = {}
        for index, cell in enumerate(cells):
            if cell.session in warm:
                self._progress[cell.id].share(warm[cell.session])
                self._learn_gpu(cell)
                continue
            if self._inputs.new and self._needs_split(cell, peaks, taken_of_gpu):
                raise GroupTooLarge(tuple(cell.id for cell in cells[:index]))
            used_bytes = used_memory_bytes(self._gpus)
            self._warm_up(cell)
            self._learn_gpu(cell)
            if cell.id in self._on_nvidia:
                self._progress[cell.id].take_of_gpu(used_bytes, used_memory_bytes(self._gpus))
                taken_of_gpu.append(self._progress[cell.id].gpu_peak_bytes or 0)
            warm[cell.session] = self._progress[cell.id]
            warmed = self._progress[cell.id].warmed
            if warmed is not None:
                peaks.append(max(warmed.peak_memory_bytes.values(), default=0))

    def _needs_split(self, cell: Cell, peaks: Sequence[int], taken_of_gpu: Sequence[int]) -> bool:
        if needs_split(cell, peaks, host.available_memory_bytes()):
            return True
        on_nvidia = cell.id in self._on_nvidia
        return on_nvidia and needs_split_on_gpu(cell, taken_of_gpu, free_memory_bytes(self._gpus))

    def _learn_gpu(self, cell: Cell) -> None:
        """Learn whether code of the user's computes on a GPU, and note which one, or why it cannot be read."""
        progress = self._progress[cell.id]
        if progress.prepared is None:
            return
        if progress.prepared.effective.get("uses_cuda"):
            self._on_gpu, self._on_nvidia = self._on_gpu | {cell.id}, self._on_nvidia | {cell.id}
            if self._plan.group.objective == "cost":
                self._workers.dismiss(cell.id, _FREE_ON_A_GPU)
                return
        if cell.id not in self._on_nvidia:
            return
        cards = Counter(model_of(gpu) or "unknown" for gpu in self._gpus)
        named = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in sorted(cards.items()))
        facts: dict[str, Scalar] = {"gpu": named} if cards else {"gpu_unread": self._gpu_absence}
        progress.prepared = replace(progress.prepared, effective={**progress.prepared.effective, **facts})

    def _used_of_gpu(self, cell: str) -> int | None:
        return used_memory_bytes(self._gpus) if cell in self._on_nvidia else None

    def _start_neighbours(self) -> None:
        if any(self._beside.values()):
            self._say(Activity("neighbours"))
        self._neighbours.start()
        for cell, neighbour in self._beside.items():
            if neighbour is not None:
                self._progress[cell].neighbour_alone = self._neighbours.alone[neighbour]

    def _warm_up(self, cell: Cell) -> None:
        """Load and compile, unless that was done side by side with others; check where it runs, and warm up alone."""
        progress = self._progress[cell.id]
        self._say(Activity("compile-and-warm-up" if progress.prepared is None else "warm-up", self._names[cell.id]))
        if progress.prepared is None:
            progress.prepared = self._workers.ask(cell.id, "compile", "prepare", self._check.wants(cell))
        if progress.prepared is None:
            self._try_other_form(cell)
            return
        failure = fallback(cell, progress.prepared.effective)
        if failure is not None:
            self._workers.dismiss(cell.id, failure)
            return
        self._check.first(cell, progress.prepared.outputs)
        if cell in self._workers.cells:
            progress.prepared = replace(progress.prepared, outputs=())
            request = self._warm_up_of(cell)
            calls_s = max(self._timing.warm_up_calls, request.calls) * progress.prepared.first_inference_s
            patience_s = self._patience_s(self._timing.warm_up + request.look_s + calls_s)
            progress.warmed = self._workers.ask(cell.id, "warm-up", "warm_up", request, deadline_s=patience_s)

    def _try_other_form(self, cell: Cell) -> None:
        """Raise where a cell that cannot run its graph can run the other form of it."""
        other = other_form(cell, self._plan.others) if cell.id in self._inputs.new else None
        if other is not None and self._workers.can_prepare(self._task(other)):
            raise GraphRefused(cell.id, self._workers.failures[cell.id].message)

    def _warm_up_of(self, cell: Cell) -> WarmUpRequest:
        """Return how a cell is warmed up: its first launch looks for when calls get no faster, and later ones know."""
        timing, room, cells = self._timing, self._inputs.room, len(self._inputs.cells)
        most_s = max(timing.warm_up, _WARM_UP_SHARE * room.left_s / room.launches / cells)
        if cell.id in self._inputs.new:
            share_s = timing.look_share * room.left_s / cells if timing.look_calls else 0.0
            return WarmUpRequest(most_s, look_s=max(0.0, min(timing.look, share_s)))
        known = self._inputs.warm_ups.get(cell.id)
        if known is None or not timing.look_calls:
            return WarmUpRequest(most_s)
        if known.ended_unsteady:
            return WarmUpRequest(most_s, look_s=most_s)
        return WarmUpRequest(most_s, calls=calls_of_later_launches(known.steady_after or 0))

    def _measure_blocks(self, tempo: Tempo) -> tuple[BlockEvidence, ...]:
        blocks: list[BlockEvidence] = []
        order: tuple[str, ...] = ()
        before = snapshot(self._plan.cpus)
        while self._workers.cells and self._goes_on(blocks):
            number = len(blocks)
            first = self._inputs.first + tempo.blocks_that_count(number) * tempo.stride
            timed = timed_cells(self._workers.cells, self._progress, self._plan.group.objective, self._timing)
            order = block_order(number, timed, order, self._random)
            self._say(Activity("block", block=number + 1, clean_blocks=self._timing.blocks))
            cells = {cell.id: cell for cell in self._workers.cells}
            for cell in order:
                if cell not in self._workers.failures:
                    self._round(cell, number, tempo.samples[cell], first, before)
                    self._check.timed(cells[cell], number, f"in block {number + 1}")
            after = snapshot(self._plan.cpus)
            blocks.append(block_evidence(number, order, (before, after), self._link))
            before = after
        return tuple(blocks)

    def _goes_on(self, blocks: list[BlockEvidence]) -> bool:
        """Whether another block is wanted, and would end in time where there are as many as a launch must have.

        The first launch of a group is measured whatever it takes, and may end after one block that counts. All others
        have the fewest that an interval needs, also the first of rows that come in a later part.
        """
        timing = self._timing
        taken = len(blocks) - timing.burn_in_blocks
        if taken < (fewest_blocks(timing) if self._number else 1):
            return True
        longest_s = max(block.wall_ns for block in blocks) / 1e9
        late = self._watch.elapsed_s + longest_s + self._forecast.after_blocks_s > self._inputs.room.until_s
        return not late and needs_more_blocks(taken, len(self._clean(blocks)), timing)

    def _round(self, cell: str, block: int, samples: int, first: int, seen: MachineSnapshot) -> None:
        patience_s = self._patience_s(self._forecast.round_s(cell, samples))
        arguments = (block, samples, self._settle_calls(cell), first)
        before = glance(seen.members, self._plan.cpus)
        gpus = self._gpus if cell in self._on_nvidia else ()
        gpu_before, used_bytes = read_gpus(gpus, seen.members), self._used_of_gpu(cell)
        take = partial(self._workers.ask, cell, "measure", "take_round", *arguments, deadline_s=patience_s)
        round_, activity = self._neighbours.beside(self._beside[cell], take)
        gpu = (gpu_before, read_gpus(gpus, seen.members)) if gpus else None
        self._progress[cell].take_of_gpu(used_bytes, self._used_of_gpu(cell))
        foreign_ns = foreign_cpu_of_turn_ns(before, glance(seen.members, self._plan.cpus))
        if round_ is not None:
            evidence = replace(round_.evidence, foreign_cpu_ns=foreign_ns)
            taken = replace(round_, block=block, evidence=evidence, neighbour=activity, gpu=gpu)
            self._progress[cell].rounds.append(taken)

    def _settle_calls(self, cell: str) -> int:
        """Return how many calls a round settles for; on a GPU as many as take that long at its highest clock."""
        rounds = self._progress[cell].rounds if cell in self._on_gpu else ()
        calls = self._progress[cell].speed.calls_per_sample
        seen_ns = (time_per_completion_ns(round_) / calls for round_ in rounds)
        fastest_ns = min((self._progress[cell].speed.completion_ns, *seen_ns))
        return settle_calls(fastest_ns, self._forecast.timing_of(cell), self._random)

    def _patience_s(self, expected_s: float) -> float:
        """Return the deadline of a request that should take ``expected_s`` when nothing goes wrong."""
        return self._deadline().seconds + _SLOWDOWN * expected_s

    def _deadline(self) -> Deadline:
        timing, until_s = self._plan.timing, self._inputs.room.until_s
        if not self._inputs.new:  # what these rows take was planned for, and one that is slow would lose good launches
            return Deadline(timing.deadline)
        return timing.deadline_after(timing.budget - until_s + self._watch.elapsed_s)

    def _clean(self, blocks: list[BlockEvidence]) -> frozenset[int]:
        healthy = {cell.id for cell in self._workers.cells}
        rounds = {cell: progress.rounds for cell, progress in self._progress.items() if cell in healthy}
        return clean_blocks(blocks, rounds, self._plan.timing, self._processors)

    @property
    def _processors(self) -> int:
        return processors_in_use(self._plan.group.cells, len(self._plan.cpus))

    def _take_beginnings(self) -> None:
        """Time beginnings of training steps, where rows have any."""
        for cell in self._workers.cells:
            if isinstance(cell.artifact, TrainingArtifact):
                self._say(Activity("beginnings", self._names[cell.id]))
                patience_s = self._patience_s(self._beginnings_s(cell))
                taken_ns = self._workers.ask(cell.id, "measure", "beginnings", deadline_s=patience_s)
                self._progress[cell.id].beginnings_ns = taken_ns or {}

    def _beginnings_s(self, cell: Cell) -> float:
        """Return how long the beginnings of a training step take, in seconds.

        Forward and backward together compile about as long as the step did, which is compiled by then.
        """
        if not isinstance(cell.artifact, TrainingArtifact):
            return 0.0
        progress = self._progress[cell.id]
        calls_s = BEGINNING_CALLS * len(BEGINNINGS) * progress.speed.completion_ns / 1e9
        return calls_s + progress.first_inference_s

    def _take_tails(self) -> None:
        calls = self._timing.tail_calls
        for cell in self._workers.cells:
            self._say(Activity("tail", self._names[cell.id]))
            patience_s = self._patience_s(self._forecast.calls_s(cell.id, calls))
            settle = self._settle_calls(cell.id)
            arguments = (calls, settle, self._number * calls)
            take = partial(self._workers.ask, cell.id, "tail", "tail", *arguments, deadline_s=patience_s)
            latencies_ns, _ = self._neighbours.beside(self._beside[cell.id], take)
            if latencies_ns is not None:
                self._progress[cell.id].tail_ns = latencies_ns
            self._check.timed(cell, self._number, "in the calls for tail percentiles")

    def _take_paces(self) -> None:
        pace_ns = round(1e9 * self._timing.pace)
        cells = list(self._workers.cells)
        self._random.shuffle(cells)
        for cell in cells:
            self._say(Activity("paced", self._names[cell.id]))
            calls = self._forecast.paced_calls(cell)
            patience_s = self._patience_s(self._forecast.paced_s(cell.id, calls))
            arguments = (pace_ns, calls, self._number * calls)
            self._progress[cell.id].paced = self._workers.ask(
                cell.id, "paced run", "paced", *arguments, deadline_s=patience_s
            )
            self._check.timed(cell, self._number, "in the paced calls")
