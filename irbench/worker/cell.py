"""One cell in its worker: import, compile, verify, warm up and measure, each on the coordinator's word."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irbench import registry
from irbench.feeds import generate, lay_out
from irbench.measure.clock import Stopwatch
from irbench.measure.drive import Driver, Window, make_driver
from irbench.measure.evidence import PeakMemory, evidence_between, read_counters
from irbench.measure.phases import PhaseLog
from irbench.record import Round, Sustained
from irbench.spec import Bundle, Cell, Scalar, Timing
from irbench.spi import Array, Backend, Feed, Session, Slot
from irbench.stats import calls_per_sample
from irbench.worker.inference import infer

__all__ = ["CellHost", "CellTask", "Prepared", "Warmed", "median_completion_ns", "plain_scalar"]

_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class CellTask:
    """What a worker needs to know: the cell with its bound artifact, the model, and the protocol's numbers."""

    cell: Cell
    bundle: Bundle
    sizes: Mapping[str, int]
    timing: Timing
    seed: int


@dataclass(frozen=True)
class Prepared:
    """A session that has answered once.

    Attributes:
        effective: What the runtime read back.
        outputs: The answers of each slot to the same inputs; empty when they were not asked for.
    """

    effective: Mapping[str, Scalar]
    outputs: tuple[tuple[Array, ...], ...]


@dataclass(frozen=True)
class Warmed:
    """How the warm-up ended.

    Attributes:
        call_ns: Median latency of one call after the first few, in nanoseconds.
        completion_ns: Median time per completion there; differs from ``call_ns`` with streams.
        calls_per_sample: Calls that each sample of a round will last.
        phases_ns: Duration of every phase so far.
        peak_memory_bytes: Resident peak of every phase so far.
    """

    call_ns: float
    completion_ns: float
    calls_per_sample: int
    phases_ns: Mapping[str, int]
    peak_memory_bytes: Mapping[str, int]


class CellHost:
    """Holds one cell's session between the coordinator's requests."""

    def __init__(self, task: CellTask) -> None:
        self._task = task
        self._phases = PhaseLog()
        self._memory = PeakMemory()
        self._session: Session | None = None
        self._slots: Sequence[Slot] = ()
        self._driver: Driver | None = None
        self._feeds: Sequence[Feed] = ()
        self._calls_per_sample = 1

    def import_runtime(self) -> None:
        """Import the backend and its runtime: the phase that workers may run side by side."""
        cell = self._task.cell
        with self._phases("import"):
            self._backend.import_runtime(cell.load, cell.device)

    def prepare(self, with_outputs: bool) -> Prepared:
        """Load, compile and answer once; return the answers of every slot if asked to."""
        cell = self._task.cell
        assert cell.artifact is not None
        logical = generate(self._task.bundle.inputs, self._task.sizes, self._task.seed)
        # as in service; streams that read the same memory would find in cache what another brought there
        self._feeds = [lay_out(logical, cell.artifact) for _ in range(cell.load.streams)]
        # held besides its slots, which need not keep it alive
        self._session = self._backend.compile(cell.artifact, cell.load, cell.device, self._phases)
        with self._phases("compile"):  # some runtimes compile for each slot, and all allocate
            self._slots = self._session.open_slots(cell.load.streams, cell.io)
        with self._phases("first_inference"):
            first = infer(self._slots[0], self._feeds[0])
        answers = (first, *_answer_all(self._slots[1:], self._feeds[1:])) if with_outputs else ()
        self._driver = make_driver(self._slots, self._feeds, cell.io)
        effective = {str(name): plain_scalar(value) for name, value in self._session.effective.items()}
        return Prepared(effective, answers)

    def warm_up(self, most_s: float = math.inf) -> Warmed:
        """Call for the protocol's time, and choose the length of a sample.

        Args:
            most_s: Where the fewest calls that a warm-up has would take longer, judged by the first one, each slot
                is called once.
        """
        first_s = self._phases.durations_ns["first_inference"] / 1e9
        calls = self._fewest if self._fewest * first_s <= most_s * len(self._slots) else len(self._slots)
        with self._phases("warm_up"):
            window = self._call_for(self._task.timing.warm_up, calls)
        call_ns = float(np.median(window.completion_ns - window.issue_ns))
        if len(self._slots) == 1:
            self._calls_per_sample = calls_per_sample(call_ns)
            self._driver = make_driver(self._slots, self._feeds, self._task.cell.io, self._calls_per_sample)
        gc.collect()
        gc.freeze()
        gc.disable()
        self._memory.reset()
        return Warmed(
            call_ns=call_ns,
            completion_ns=median_completion_ns(window, len(self._slots)),
            calls_per_sample=self._calls_per_sample,
            phases_ns=self._phases.durations_ns,
            peak_memory_bytes=self._phases.peaks_bytes,
        )

    def take_round(self, block: int, samples: int, settle_calls: int) -> Round:
        """Take one round of timed samples after untimed calls."""
        assert self._driver is not None
        before = read_counters()
        window = self._driver.drive(samples, settle_calls)
        evidence = evidence_between(before, read_counters())
        return Round(block, window.issue_ns, window.completion_ns, evidence)

    def alone(self, seconds: float) -> Sustained:
        """Run uninterrupted for about ``seconds`` and count completions."""
        assert self._driver is not None
        pilot = self._driver.drive(self._fewest)
        samples = max(self._fewest, math.ceil(seconds * 1e9 / median_completion_ns(pilot, len(self._slots))))
        window = self._driver.drive(samples)
        return Sustained(self._task.cell.id, samples * self._calls_per_sample, int(window.completion_ns[-1]))

    def tail(self, calls: int, settle_calls: int) -> NDArray[np.int64]:
        """Take ``calls`` uninterrupted calls and return each one's latency in nanoseconds, int64.

        One call is one sample here whatever its length: a tail cannot be read from means.

        Args:
            calls: How many are timed.
            settle_calls: How many untimed ones come before.
        """
        assert self._driver is not None
        driver = self._driver
        if self._calls_per_sample > 1:
            driver = make_driver(self._slots, self._feeds, self._task.cell.io)
        window = driver.drive(calls, settle_calls)
        return window.completion_ns - window.issue_ns

    def answer_again(self) -> tuple[tuple[Array, ...], ...]:
        """Return what each slot answers now to the inputs of its first answer."""
        return tuple(_answer_all(self._slots, self._feeds))

    @property
    def phases_ns(self) -> Mapping[str, int]:
        """Duration of every phase so far, in nanoseconds."""
        return self._phases.durations_ns

    def peak_memory_bytes(self) -> int | None:
        """Return the resident peak since the warm-up, in bytes."""
        return self._memory.read_bytes()

    @property
    def _fewest(self) -> int:
        """As few samples as tell a median time per completion."""
        return max(self._task.timing.min_calls, 2 * len(self._slots))

    @property
    def _backend(self) -> Backend:
        return registry.backend(self._task.cell.backend)

    def _call_for(self, seconds: float, fewest: int) -> Window:
        """Call for about so long, as often as ``fewest`` at least, and return the last calls."""
        assert self._driver is not None
        watch = Stopwatch()
        window = self._driver.drive(fewest)
        left_s = seconds - watch.elapsed_s
        if left_s <= 0:
            return window
        samples = math.ceil(left_s * 1e9 / median_completion_ns(window, len(self._slots)))
        return self._driver.drive(max(fewest, samples))


def _answer_all(slots: Sequence[Slot], feeds: Sequence[Feed]) -> Iterator[tuple[Array, ...]]:
    return (infer(slot, feed) for slot, feed in zip(slots, feeds, strict=True))


def plain_scalar(value: Any) -> Scalar:
    """Return what documents can hold and the coordinator can read without the runtime; others become their text."""
    value = value.item() if isinstance(value, np.generic) else value
    plain: Scalar = value if type(value) in _PLAIN else str(value)
    return plain


def median_completion_ns(window: Window, streams: int) -> float:
    """Return the median time per completion over a window, in nanoseconds, at least 1.

    With streams it is taken over every ``streams`` completions in a row: requests that keep in step complete in
    bursts, between which the single gaps say nothing.

    Args:
        window: At least ``streams`` samples.
        streams: Inferences in flight.
    """
    stamps = np.concatenate(([0], window.completion_ns))
    return max(1.0, float(np.median(stamps[streams:] - stamps[:-streams])) / streams)
