"""One cell in its worker: import, compile, verify, warm up and measure, each on the coordinator's word."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from irbench.core import registry
from irbench.core.feeds import lay_out, logical_inputs
from irbench.core.output_check import fingerprint
from irbench.core.record import Round, ServerTimes, WarmUp
from irbench.errors import IrbenchError
from irbench.measure.call_parts import part_names, part_times_ns
from irbench.measure.drive import (
    Driver,
    SampleTurns,
    TurningSlot,
    Turns,
    make_driver,
    make_turning_driver,
    turning_slot,
)
from irbench.measure.kernel_evidence import (
    KernelCounters,
    PeakMemory,
    PhaseLog,
    descendant_folders,
    evidence_between,
    private_memory_bytes,
    read_counters,
    with_descendants,
)
from irbench.spec import Artifact, Cell, Feeding, Io, Scalar, Timing, Workload
from irbench.spi import Array, Backend, Feed, Refusal, Session, Slot
from irbench.stats.launch_planning import calls_per_sample, fewest_warm_up_calls
from irbench.worker.cuda_contexts import CudaContexts, cuda_contexts
from irbench.worker.feed_turns import feeds_of_samples, require_loop, takes_turns, turns_of_streams
from irbench.worker.generation import generating_if_decoder
from irbench.worker.inference import Retries, fetched, infer, token_memory_bytes
from irbench.worker.training import training_if_trained
from irbench.worker.warming import Warming, WarmUpRequest
from irbench.worker.watchdog import own_temporary_files

if TYPE_CHECKING:
    from irbench.worker.own_code.command_session import CommandSession


def backend_of(cell: Cell, feeding: Feeding, feed: Callable[[], Feed]) -> Backend:
    """Return what runs a cell."""
    program = cell.program
    if program is None:
        return registry.backend(cell.backend)
    if program.kind == "server":
        from irbench.worker.own_code.inference_server import ServerBackend

        return ServerBackend(cell.backend, program)
    if program.kind == "callable":
        from irbench.worker.own_code.callables import CallableBackend  # workers of other rows start sooner without it

        return CallableBackend(cell.backend, program)
    if takes_turns(feeding) or cell.dynamic:
        raise IrbenchError(
            "A command is given one input of one shape.",
            hint="Give `--data` one sample and leave --feedback and --shapes out, or give a function: module:function.",
        )
    from irbench.worker.own_code.command_session import CommandBackend

    return CommandBackend(cell.backend, program, feed)


_CALLS_OF_OTHERS = 3
"""How often each other shape is called before a new one: idle threads are awake then, and its memory is allocated."""
_LEFT_NS, _LEFT_CALLS, _LEFT_SHARE = 5_000_000, 2, 0.1
"""Beyond all of these the GPU is behind: what is left of calls that do not wait grows with their number, while inputs
that are copied ahead and memory that is given back take as long as a call or two."""
_MOST_BEHIND = 3
"""Rounds in a row, of which each may have been interrupted by another program."""

_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class CellTask:
    """What a worker needs to know: the cell with its bound artifact, the model and its inputs, and the timing.

    Where the workload has other sizes, the session meets them first, and its first call of these is timed.
    """

    cell: Cell
    workload: Workload
    timing: Timing


@dataclass(frozen=True)
class PreparedSession:
    """A session that has answered once.

    Attributes:
        outputs: The answers of each slot to the first sample, an array for each output, or a list of them where a
            graph gives a sequence; empty when they were not asked for.
        first_inference_s: How long the first inference took, in seconds; it may have been slower than others are.
        stages: Names of the stages of each call, in order; empty where it has none.
        token_memory_bytes: Resident memory after each token of the first text, int64; empty where none is generated.
    """

    effective: Mapping[str, Scalar]
    outputs: tuple[tuple[Any, ...], ...]
    first_inference_s: float = 0.0
    stages: tuple[str, ...] = ()
    token_memory_bytes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True)
class Warmed:
    """How the warm-up ended.

    Attributes:
        call_ns: Median latency of one call after the first few, in nanoseconds.
        completion_ns: Median time per completion there; differs from ``call_ns`` with streams.
        calls_per_sample: Calls that each sample of a round will last.
        phases_ns: Duration of every phase so far.
        peak_memory_bytes: Resident peak of every phase so far.
        private_memory_bytes: Memory at the end of every phase so far that no other process shares.
        warm_up: After how many calls it was steady; ``None`` where that is not known.
        repeat_s: How long the warm-up of a later launch takes, in seconds; ``None`` for as long as this one.
    """

    call_ns: float
    completion_ns: float
    calls_per_sample: int
    phases_ns: Mapping[str, int]
    peak_memory_bytes: Mapping[str, int]
    private_memory_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    warm_up: WarmUp | None = None
    repeat_s: float | None = None


@runtime_checkable
class ServedSession(Protocol):
    """A session whose calls a model server answers or refuses.

    Attributes:
        retries: Repeats refused calls while it is set.
    """

    retries: Retries | None

    def server_times(self) -> ServerTimes | None:
        """Return the sums over all answers so far; ``None`` where the server does not tell."""
        ...


@dataclass(frozen=True)
class Response:
    """Outputs of a call that was made for its time.

    Attributes:
        outputs: As :attr:`PreparedSession.outputs` has those of a slot.
        call: Which of the calls that are checked was given the same inputs.
        request: The number of the request that it answered, where requests arrived.
    """

    outputs: tuple[Any, ...]
    call: int = 0
    request: int | None = None


class CellHost:
    """Holds one cell's session between the coordinator's requests."""

    _tells_private_memory = False
    """Whether private memory is read at the end of each phase; it takes time between them."""

    def __init__(self, task: CellTask) -> None:
        self._task = task
        self._workload = task.workload
        program = task.cell.program
        self._is_command = program is not None and program.kind == "command"
        self._memory = PeakMemory(descendant_folders) if self._is_command else PeakMemory()
        self._phases = PhaseLog(self._memory, self._read_private if self._tells_private_memory else None)
        self._session: Session | None = None
        self._slots: Sequence[Slot] = ()
        self._driver: Driver | None = None
        self._feeds: Sequence[Feed] = ()
        self._turns: Sequence[Turns] = ()
        self._turning: Sequence[TurningSlot] = ()
        self._other_feeds: Sequence[Feed] = ()
        self._calls_per_sample = 1
        self._device: Scalar = None
        self._cuda: CudaContexts | None = None
        self._rounds_behind = 0

    def import_runtime(self) -> None:
        """Import the backend and its runtime: the phase that workers may run side by side."""
        cell = self._task.cell
        if cell.program is None:  # code of the user's may keep a cache among the temporary files
            own_temporary_files()
        with self._phases("import"):
            self._backend.import_runtime(cell.load, cell.device)

    def prepare(self, with_outputs: bool) -> PreparedSession:
        """Load, compile and answer once; return the answers of every slot if asked to."""
        cell = self._task.cell
        assert cell.artifact is not None
        self._make_feeds(cell.artifact)
        self._other_feeds = [
            lay_out(logical_inputs(self._workload.bundle.inputs, sizes, self._workload.feeding), cell.artifact)
            for sizes in self._workload.other_sizes
        ]
        # held besides its slots, which need not keep it alive
        self._session = self._compile(cell.artifact)
        with self._phases("compile"):  # some runtimes compile for each slot, and all allocate
            self._slots = self._session.open_slots(cell.load.streams, self._io_of_slots)
        if self._turns:
            self._turning = [turning_slot(*pair) for pair in zip(self._slots, self._turns, strict=True)]
        with self._phases("first_inference"):
            first = self._infer(self._slots[0], (*self._other_feeds, *self._feeds)[0])
        if not self._other_feeds:
            require_loop(self._workload.bundle, self._workload.feeding, cell.artifact, self._feeds[0], first)
        elif with_outputs:  # only the first launch asks for them, in which nobody else starts now
            first = self._meet_shape()
        answers = self._given((first, *self._answer_all(self._slots[1:], self._feeds[1:]))) if with_outputs else ()
        self._driver = self._make_driver()
        effective = {str(name): plain_scalar(value) for name, value in self._session.effective.items()}
        self._device = effective.get("device")
        self._cuda = cuda_contexts() if cell.program is not None else None
        memory_bytes = token_memory_bytes(self._slots[0])
        return PreparedSession(effective, answers, self._first_inference_s, part_names(self._slots), memory_bytes)

    def _compile(self, artifact: Artifact) -> Session:
        return self._backend.compile(artifact, self._task.cell.load, self._task.cell.device, self._phases)

    def warm_up(self, request: WarmUpRequest | None = None) -> Warmed:
        """Call for the protocol's time, and for as long as a launch asks for; choose the length of a sample."""
        request = request or WarmUpRequest()
        assert self._driver is not None
        if self._other_feeds:
            self._meet_shape()
        fewest_s = self._fewest * self._first_inference_s
        calls = self._fewest if fewest_s <= request.most_s * len(self._slots) else len(self._slots)
        with self._phases("warm_up"), self._retrying() as retries:
            warming = Warming(self._driver, len(self._slots), self._task.timing, request, retries)
            warming.run(calls)
        call_ns = warming.call_ns
        if self._task.cell.load.concurrency == 1 and not self._is_command:
            self._calls_per_sample = calls_per_sample(call_ns)
            self._driver = self._make_driver(self._calls_per_sample)
        gc.collect()
        gc.freeze()
        gc.disable()
        self._memory.reset()
        warm_up = warming.record()
        return Warmed(
            call_ns=call_ns,
            completion_ns=warming.completion_ns,
            calls_per_sample=self._calls_per_sample,
            phases_ns=self._phases.durations_ns,
            peak_memory_bytes=self._phases.peaks_bytes,
            private_memory_bytes=self._phases.private_bytes,
            warm_up=warm_up,
            repeat_s=warming.repeat_s(warm_up),
        )

    @contextmanager
    def _retrying(self) -> Iterator[Retries]:
        """Repeat calls that are refused: for those that no figure is made of."""
        retries = Retries()
        if not isinstance(self._session, ServedSession):
            yield retries
            return
        self._session.retries = retries
        try:
            yield retries
        finally:
            self._session.retries = None

    def _infer(self, slot: Slot, feed: Feed) -> tuple[Array, ...]:
        """Return the outputs of an untimed call, which is repeated where it is refused."""
        with self._retrying():
            return infer(slot, feed)

    def _answer_all(self, slots: Sequence[Slot], feeds: Sequence[Feed]) -> Iterator[tuple[Array, ...]]:
        return (self._infer(slot, feed) for slot, feed in zip(slots, feeds, strict=True))

    def _meet_shape(self) -> tuple[Array, ...]:
        """Time the first call of the cell's shape in a session that is used to other shapes, and return its answer.

        Only once: a second time the shape is not new.
        """
        if "new_shape" in self._phases.durations_ns:
            return ()
        for feed in self._other_feeds:
            for _ in range(_CALLS_OF_OTHERS):
                self._infer(self._slots[0], feed)
        with self._phases("new_shape"):
            return self._infer(self._slots[0], self._feeds[0])

    def take_round(self, block: int, samples: int, settle_calls: int, first: int = 0) -> Round:
        """Take one round of timed samples after untimed calls.

        Args:
            block: The block it belongs to.
            samples: How many are timed.
            settle_calls: How many untimed calls come before.
            first: Place of the input that the timed window begins with, where inputs take turns; the same for all
                cells of a block. A decode loop begins with its initial values.
        """
        assert self._driver is not None
        before = self._read_counters()
        window = self._driver.drive(samples, settle_calls, first)
        evidence = evidence_between(before, self._read_counters())
        self._require_finished(int(window.completion_ns[-1]), samples * self._calls_per_sample)
        part_ns = part_times_ns(self._slots, samples * self._calls_per_sample)
        return Round(block, window.issue_ns, window.completion_ns, evidence, window.open_ns, part_ns)

    def _require_finished(self, window_ns: int, calls: int) -> None:
        """Refuse own code that returns before the GPU is done, from which the GPU is behind after round by round.

        Args:
            window_ns: Length of the window that was timed.
            calls: How many calls it has.
        """
        if self._cuda is None:
            return
        left_ns = self._cuda.unfinished_ns()
        is_behind = left_ns > max(_LEFT_NS, _LEFT_CALLS * window_ns / calls, _LEFT_SHARE * window_ns)
        self._rounds_behind = self._rounds_behind + 1 if is_behind else 0
        if self._rounds_behind == _MOST_BEHIND:
            raise Refusal(
                f"The code returns before the GPU is done: {left_ns / 1e6:.1f} ms of work were left after"
                f" {window_ns / 1e6:.1f} ms of calls, in {_MOST_BEHIND} rounds.",
                hint="Wait for the GPU in each call: torch.cuda.synchronize(), or return the outputs as NumPy arrays.",
            )

    def require_same_device(self) -> None:
        """Refuse a session that runs on another device than it said when it had answered first."""
        assert self._session is not None
        device = plain_scalar(self._session.effective.get("device"))
        if device != self._device:
            raise Refusal(
                f"The runtime moved from {self._device} to {device} while it was measured.",
                hint="The row's log may say why.",
            )

    def answer_again(self) -> tuple[tuple[Array, ...], ...]:
        """Return what each slot answers now to the inputs of its first answer."""
        return self._given(self._answer_all(self._slots, self._feeds))

    def answer_call(self, number: int) -> tuple[tuple[Array, ...], ...]:
        """Return what the first slot answers to a sample, or to a step of its decode loop, as the only answer."""
        turns = self._turns[0]
        if number == 0:
            turns.begin(0)
        outputs = self._infer(self._slots[0], turns.next())
        turns.take(outputs)
        return self._given((outputs,))

    def last_responses(self, turn: int, right: Collection[str]) -> tuple[Response, ...]:
        """Return the outputs of the last timed call of a slot: those of the call itself, for none is made here.

        Args:
            turn: Slots take turns.
            right: Fingerprints of outputs that were compared before, which are not returned again. So the memory of
                this process does not grow by copies of them.

        Returns:
            One response; none where its outputs are known, or there are none to compare: a command keeps them to
            itself, and a state that is fed back has another value in each call.
        """
        place = turn % len(self._slots)
        call = self._call_of(place)
        if call is None:
            return ()
        return self._unknown([Response(fetched(self._slots[place]), call)], right)

    def _call_of(self, place: int) -> int | None:
        """Return which of the calls that are checked was given what a slot was given last; ``None`` where none was."""
        if self._is_command or self._workload.feeding.feedback:
            return None
        return self._call_given(self._turning[place].given) if self._turning else 0

    def _call_given(self, feed: Feed) -> int | None:
        turns = self._turns[0]
        return turns.place_of(feed) % self._workload.feeding.count if feed and isinstance(turns, SampleTurns) else None

    def _unknown(self, responses: Iterable[Response], right: Collection[str]) -> tuple[Response, ...]:
        """Return those of some responses whose outputs nobody has compared yet, each once."""
        new: dict[str, Response] = {}
        for response in responses:
            if response.outputs:
                new.setdefault(fingerprint(response.outputs, response.call), response)
        return tuple(response for mark, response in new.items() if mark not in right)

    @property
    def phases_ns(self) -> Mapping[str, int]:
        """Duration of every phase so far, in nanoseconds."""
        return self._phases.durations_ns

    def peak_memory_bytes(self) -> int | None:
        """Return the resident peak since the warm-up, in bytes."""
        return self._memory.read_bytes()

    def private_memory_bytes(self) -> int | None:
        """Return the memory that no other process shares now, in bytes."""
        return self._read_private()

    def _given(self, answers: Iterable[tuple[Array, ...]]) -> tuple[tuple[Array, ...], ...]:
        """Return answers; a user's own code need not give any, and a backend that gives none is wrong."""
        return tuple(answer for answer in answers if answer or self._task.cell.program is None)

    def _make_feeds(self, artifact: Artifact) -> None:
        """Lay out what the slots are given: memory of its own for each stream, as in service.

        Streams that read the same memory would find in cache what another brought there.
        """
        workload, streams = self._workload, self._task.cell.load.streams
        first_sample = replace(workload.feeding, samples=workload.feeding.samples[:1])
        self._feeds = feeds_of_samples(workload.bundle, workload.sizes, first_sample, artifact, streams)
        if takes_turns(workload.feeding):
            self._turns = turns_of_streams(workload.bundle, workload.sizes, workload.feeding, artifact, streams)

    def _make_driver(self, calls_per_sample: int = 1) -> Driver:
        if self._is_command:
            return cast("CommandSession", self._session)
        if self._turning:
            return make_turning_driver(self._turning, calls_per_sample)
        return make_driver(self._slots, self._feeds, self._task.cell.io, calls_per_sample)

    @property
    def _first_inference_s(self) -> float:
        return self._phases.durations_ns["first_inference"] / 1e9

    @property
    def _io_of_slots(self) -> Io:
        return self._task.cell.io

    @property
    def _fewest(self) -> int:
        return fewest_warm_up_calls(self._task.timing, len(self._slots))

    @cached_property
    def _backend(self) -> Backend:
        backend = backend_of(self._task.cell, self._workload.feeding, lambda: self._feeds[0])
        cell = self._task.cell
        if cell.program is not None:  # is given the prompt, and generates by itself
            return backend
        return training_if_trained(generating_if_decoder(backend, cell.artifact, cell.io), cell.artifact)

    def _read_private(self) -> int | None:
        return private_memory_bytes(descendant_folders()) if self._is_command else private_memory_bytes()

    def _read_counters(self) -> KernelCounters:
        own = read_counters()
        return with_descendants(own) if self._is_command else own


def plain_scalar(value: Any) -> Scalar:
    """Return what documents can hold and the coordinator can read without the runtime; others become their text."""
    value = value.item() if isinstance(value, np.generic) else value
    plain: Scalar = value if type(value) in _PLAIN else str(value)
    return plain
