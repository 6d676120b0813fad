"""The processes of one cell that runs in several: asked together, as if they were one worker."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import Evidence, PacedRun, Round, ServedLoad, Sustained, WarmUp, ns_per_completion
from irbench.errors import ExitCode
from irbench.measure.clock import Stopwatch
from irbench.measure.ledger import CommonWindow, Window, WindowCounters, joined_window
from irbench.measure.pacing import CallSchedule, join_paced, start_soon
from irbench.measure.serving import join_served
from irbench.spec import Cell
from irbench.spec.serving import OfferedLoad, Queueing
from irbench.spi import Array
from irbench.system.confinement import Confinement
from irbench.system.host import one_per_core, with_siblings
from irbench.worker.cell import CellTask, PreparedSession, Warmed
from irbench.worker.cell_hosts import Place, Share
from irbench.worker.failures import CallFailed, WorkerDied
from irbench.worker.process import LOOK_S, Worker


def cpu_shares(cpus: Sequence[int], count: int) -> tuple[tuple[int, ...], ...]:
    """Return disjoint shares of equally many physical cores; no share has what is left over.

    Hardware threads of a core stay together. Where there are fewer cores than shares, hardware threads are divided.
    Neighbours go into the same share: they often have a cache or memory in common.
    """
    cores = [tuple(sorted(with_siblings((first,)) & set(cpus))) for first in one_per_core(cpus)]
    units = cores if len(cores) >= count else [(cpu,) for cpu in sorted(cpus)]
    if len(units) < count:
        raise ValueError(f"{len(units)} processors cannot be divided among {count}")
    size = len(units) // count
    parts = (units[place * size : (place + 1) * size] for place in range(count))
    return tuple(tuple(cpu for unit in part for cpu in unit) for part in parts)


_MUST_AGREE = ("precision", "device")


def joined_prepared(prepared: Sequence[PreparedSession]) -> PreparedSession:
    """Return the answers of all processes, and what is known of the first."""
    for name in _MUST_AGREE:
        settings = dict.fromkeys(str(own.effective.get(name)) for own in prepared)
        if len(settings) > 1:
            raise CallFailed(f"Its instances differ in {name}: {', '.join(settings)}.", exit_code=ExitCode.FAILED_CELL)
    answers = tuple(answer for own in prepared for answer in own.outputs)
    first_inference_s = max(own.first_inference_s for own in prepared)
    return replace(prepared[0], outputs=answers, first_inference_s=first_inference_s)


def joined_warmed(warmed: Sequence[Warmed]) -> Warmed:
    """Return the speed of all processes together: they were warmed up side by side."""
    return Warmed(
        call_ns=max(own.call_ns for own in warmed),
        completion_ns=1 / sum(1 / own.completion_ns for own in warmed),
        calls_per_sample=1,
        phases_ns=_longest([own.phases_ns for own in warmed]),
        peak_memory_bytes=_summed([own.peak_memory_bytes for own in warmed]),
        private_memory_bytes=_summed([own.private_memory_bytes for own in warmed]),
        warm_up=_joined_warm_up([own.warm_up for own in warmed if own.warm_up is not None]),
        repeat_s=max((own.repeat_s for own in warmed if own.repeat_s is not None), default=None),
    )


def _joined_warm_up(warm_ups: Sequence[WarmUp]) -> WarmUp | None:
    """Return the warm-up of the process that was steady last, with the calls of the one that made fewest."""
    if not warm_ups:
        return None
    last = max(warm_ups, key=lambda own: (own.ended_unsteady, own.steady_after or 0))
    refused = sum(own.refused for own in warm_ups)
    return replace(last, calls=min(own.calls for own in warm_ups), refused=refused)


def joined_answers(answers: Sequence[tuple[tuple[Array, ...], ...]]) -> tuple[tuple[Array, ...], ...]:
    """Return the answers of all processes, one after the other."""
    return tuple(answer for own in answers for answer in own)


def joined_memory(peaks_bytes: Sequence[int | None]) -> int | None:
    """Return the sum of what is known of all; ``None`` where something is not."""
    known = [peak for peak in peaks_bytes if peak is not None]
    return sum(known) if len(known) == len(peaks_bytes) else None


JOINED: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "import_runtime": lambda _: None,
    "prepare": joined_prepared,
    "warm_up": joined_warmed,
    "answer_again": joined_answers,
    "answer_call": joined_answers,
    "last_responses": joined_answers,
    "responses": joined_answers,
    "peak_memory_bytes": joined_memory,
    "private_memory_bytes": joined_memory,
    "require_same_device": lambda _: None,
}
"""By method of :class:`irbench.worker.cell_hosts.RunHost`: makes one answer of those of all processes."""


def joined_shares(shares: Sequence[Share], window: CommonWindow) -> Window:
    """Return what processes did in their common window."""
    try:
        return joined_window([share.times_ns for share in shares], window)
    except ValueError as error:
        raise CallFailed(f"Its instances did not run side by side: {error}.", exit_code=ExitCode.FAILED_CELL) from error


def as_round(block: int, window: Window, shares: Sequence[Share]) -> Round:
    """Return a common window as a round of the cell."""
    evidence = _joined_evidence([share.evidence for share in shares])
    return Round(block, window.issue_ns, window.completion_ns, evidence, window.open_ns, window.part_ns)


def as_sustained(cell: str, window: Window) -> Sustained:
    """Return a common window as a run of the cell alone."""
    return Sustained(cell, window.completion_ns.size, math.ceil(window.completion_ns[-1]))


def _joined_evidence(parts: Sequence[Evidence]) -> Evidence:
    """Return what the kernel saw of all processes: the longest wall time, and the sum of everything else."""
    sums = {
        field.name: joined_memory([getattr(evidence, field.name) for evidence in parts]) for field in fields(Evidence)
    }
    return Evidence(**{**sums, "wall_ns": max(evidence.wall_ns for evidence in parts)})  # type: ignore[arg-type]


def _longest(phases_ns: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: max(own.get(name, 0) for own in phases_ns) for own in phases_ns for name in own}


def _summed(peaks_bytes: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(own.get(name, 0) for own in peaks_bytes) for own in peaks_bytes for name in own}


_HOST = "irbench.worker.cell_hosts:InstanceHost"
_PILOT_CALLS = 4
"""Calls of each inference in flight, from which the length of an uninterrupted run is estimated."""


class InstanceWorkers:
    """Workers that run one cell side by side, each on its own processors.

    A method of :class:`irbench.worker.cell_hosts.RunHost` is called in all of them, and their answers are joined. What
    one of them fails at is a failure of all. Each is ended with its coordinator as any other worker.
    """

    def __init__(
        self,
        cell: Cell,
        logs: Path,
        cpus: Sequence[int],
        environment: Mapping[str, str],
        confinement: Confinement | None = None,
    ) -> None:
        self._cell = cell
        self._load = load = cell.load
        self._descriptor = os.memfd_create("irbench-instances")
        os.ftruncate(self._descriptor, WindowCounters.size_bytes(load.instances))
        self._counters = WindowCounters(self._descriptor, load.instances)
        self._sent: deque[str] = deque()
        self._driven_windows = 0
        self._workers: list[Worker] = []
        self.log = logs / f"{cell.id}.log"
        try:
            for number, share in enumerate(cpu_shares(cpus, load.instances), start=1):
                log = logs / f"{cell.id}-{number}.log"
                self._workers.append(
                    Worker(
                        log,
                        cpus=share,
                        environment=environment,
                        inherited=(self._descriptor,),
                        python=cell.python,
                        confinement=confinement,
                    )
                )
        except BaseException:
            self.kill()
            raise

    def hold(self, task: CellTask, *, deadline_s: float) -> None:
        """Have every process hold the cell; raises as :meth:`ask` does."""
        for number, worker in enumerate(self._workers):
            arguments = (task, Place(number, self._descriptor))
            with self._naming(worker):
                worker.send(_HOST, *arguments, deadline_s=deadline_s, hold=True)
        self._answers(deadline_s)

    def ask(self, method: str, *args: Any, deadline_s: float) -> Any:
        """Call a method of the host in every process, and return the answer of all; see :meth:`Worker.ask`."""
        if method in self._driven:
            return self._driven[method](deadline_s, *args)
        self.send(method, *args, deadline_s=deadline_s)
        return self.receive(deadline_s=deadline_s)

    def send(self, method: str, *args: Any, deadline_s: float) -> None:
        """Send a request to all without waiting for their answers; raises as :meth:`Worker.send` does."""
        self._sent.append(method)
        self._send_all(method, *args, deadline_s=deadline_s)

    def receive(self, *, deadline_s: float) -> Any:
        """Wait for the answers to the first request that was sent, and return them as one; raises as ask does."""
        return JOINED[self._sent.popleft()](self._answers(deadline_s))

    def freeze(self) -> None:
        """Stop all of them; see :meth:`Worker.freeze`."""
        for worker in self._workers:
            with self._naming(worker):
                worker.freeze()

    def thaw(self) -> None:
        """Let all of them run again."""
        for worker in self._workers:
            worker.thaw()

    def kill(self) -> None:
        """End all of them, frozen or not."""
        for worker in self._workers:
            worker.kill()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @cached_property
    def _driven(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "take_round": self._round,
            "tail": self._tail,
            "alone": self._alone,
            "paced": self.call_at_pace,
            "serve": self.serve,
        }

    def _round(self, deadline_s: float, block: int, samples: int, settle_calls: int, first: int = 0) -> Round:
        window, shares = self._drive(deadline_s, samples, settle_calls, first)
        return as_round(block, window, shares)

    def _tail(self, deadline_s: float, calls: int, settle_calls: int, first: int = 0) -> NDArray[np.int64]:
        pieces: list[NDArray[np.int64]] = []
        while (missing := calls - sum(latencies.size for latencies in pieces)) > 0:  # where instances are not as fast
            window, _ = self._drive(deadline_s, missing, settle_calls, first)
            pieces.append(window.completion_ns - window.issue_ns)
        return np.concatenate(pieces)[:calls]

    def _alone(self, deadline_s: float, seconds: float, samples: int | None = None, first: int = 0) -> Sustained:
        fewest = _PILOT_CALLS * self._load.concurrency
        pilot, _ = self._drive(deadline_s, fewest, 1, first)
        if samples is None:
            samples = max(fewest, math.ceil(seconds * 1e9 / ns_per_completion(pilot.completion_ns)))
        window, _ = self._drive(deadline_s, samples, 1, first)
        return as_sustained(self._cell.id, window)

    def call_at_pace(self, deadline_s: float, pace_ns: int, calls: int, first: int = 0) -> PacedRun:
        """Have all instances make their share of the calls of a pace, and return them as one run."""
        schedule = CallSchedule(start_soon(), pace_ns, calls, self._load.instances, self._load.streams)
        run = join_paced(self._share_work("take_paced_share", schedule, first, deadline_s=deadline_s), schedule)
        if run.issue_ns.size != calls:
            message = f"Its instances made {run.issue_ns.size} of {calls} calls together."
            raise CallFailed(message, exit_code=ExitCode.FAILED_CELL)
        return run

    def serve(self, deadline_s: float, offered: OfferedLoad, queueing: Queueing) -> ServedLoad:
        """Have each instance answer its requests of a load, from one moment on, and return them as one load."""
        self._share_work("expect_share", offered, deadline_s=deadline_s)
        shares = self._share_work("serve_share", offered, queueing, start_soon(), deadline_s=deadline_s)
        try:
            return join_served(shares, offered)
        except ValueError as error:
            message = f"Its instances have not answered together: {error}."
            raise CallFailed(message, exit_code=ExitCode.FAILED_CELL) from error

    def _drive(self, deadline_s: float, samples: int, settle_calls: int, first: int) -> tuple[Window, list[Share]]:
        """Have all processes issue requests at the same time.

        Args:
            deadline_s: When to give up.
            samples: Completions that are timed, about: each makes its part of them.
            settle_calls: Completions of all together before that; each makes its part of them.
            first: Place of the input that the window begins with, where inputs take turns.
        """
        self._counters.reset()
        self._driven_windows += 1
        processes = self._load.instances
        window = CommonWindow(
            reference=self._driven_windows % processes,
            settle_calls=max(self._load.streams, math.ceil(settle_calls / processes)),
            calls=math.ceil(samples / processes),
        )
        shares = self._share_work("take_share", window, first, deadline_s=deadline_s)
        return joined_shares(shares, window), shares

    def _share_work(self, method: str, *args: Any, deadline_s: float) -> list[Any]:
        self._send_all(method, *args, deadline_s=deadline_s)
        return self._answers(deadline_s)

    def _send_all(self, method: str, *args: Any, deadline_s: float) -> None:
        for worker in self._workers:
            with self._naming(worker):
                worker.send(method, *args, deadline_s=deadline_s)

    def _answers(self, deadline_s: float) -> list[Any]:
        """Return the answer of each, as soon as all have one.

        They are waited for together: what one fails at must not be waited for until the others have ended.
        """
        watch = Stopwatch()
        answers: dict[int, Any] = {}
        while len(answers) < len(self._workers):
            missing = [number for number in range(len(self._workers)) if number not in answers]
            left_s = deadline_s - watch.elapsed_s
            ready = self._ready(missing, min(left_s, LOOK_S))
            if not ready and left_s > LOOK_S:
                self._look(missing)
                continue
            # without a sign the deadline has passed, and the one that has done least of those missing says so
            for number in ready or [min(missing, key=self._counters.done)]:
                worker = self._workers[number]
                with self._naming(worker):
                    answers[number] = worker.receive(deadline_s=deadline_s, watch=watch)
        return [answers[number] for number in range(len(self._workers))]

    def _look(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            with self._naming(self._workers[number]):
                self._workers[number].look()

    def _ready(self, numbers: Sequence[int], within_s: float) -> list[int]:
        arrived = [number for number in numbers if self._workers[number].has_answer]
        if arrived:
            return arrived
        signs = {sign: number for number in numbers for sign in self._workers[number].signs}
        ready = wait(list(signs), max(0.0, within_s))
        return sorted({number for sign, number in signs.items() if sign in ready})

    @contextmanager
    def _naming(self, worker: Worker) -> Iterator[None]:
        """Have a failure say which of the processes it is about, and where that one wrote what it printed."""
        try:
            yield
        except (CallFailed, WorkerDied) as error:
            self.log = worker.log
            which = f"instance {self._workers.index(worker) + 1} of {len(self._workers)}"
            error.message = f"{error.message.removesuffix('.')} ({which})."
            raise
