"""What the contract of backends does with one, each call inside a worker; the contract judges what comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from irbench.core import registry
from irbench.core.feeds import generate, lay_out
from irbench.measure.drive import make_driver
from irbench.measure.kernel_evidence import evidence_between, read_counters
from irbench.spec import Artifact, InputSpec, Io, Load
from irbench.spi import Array, AsyncSlot, Backend, Feed, Outputs, Refusal, Session, Slot

Answer: TypeAlias = list[Array]
"""The outputs of one call."""

_DONE_WITHIN_S = 30
_PILOT_NS = 100_000_000
_SATURATED_NS = 600_000_000


def feed(artifact: Artifact, seed: int) -> Feed:
    """Return inputs between -1 and 1 for a model whose dimensions are all bound."""
    return lay_out(generate([InputSpec(tensor, -1.0, 1.0) for tensor in artifact.inputs], {}, seed), artifact)


def find(group: str, name: str) -> Backend:
    """Return a backend or a reference, by the group of its entry point."""
    return registry.reference(name) if group == registry.REFERENCES else registry.backend(name)


def given(group: str, name: str, artifact: Artifact, feeds: Sequence[Feed]) -> list[Answer]:
    """Return the outputs of a reference, or of another backend, for feeds that were made elsewhere."""
    (size,) = {spec.shape[0] for spec in artifact.inputs}
    with _session(find(group, name), artifact, Load(batch=int(size))) as session:
        (slot,) = session.open_slots(1, "copy")
        found: list[Answer] = []
        for fed in feeds:
            slot.stage(fed)
            slot.run()
            found.append(_copies(slot.fetch()))
        return found


def answers(
    group: str, name: str, artifact: Artifact, load: Load, io: Io, seeds: Sequence[int]
) -> tuple[list[Answer], list[Answer]]:
    """Return the outputs of one slot to one feed after the other.

    Returns:
        Copies that were made as soon as outputs were fetched, and copies of the same outputs made after the last call.
    """
    with _session(find(group, name), artifact, load) as session:
        (slot,) = session.open_slots(1, io)
        fetched: list[Outputs] = []
        at_once: list[Answer] = []
        for seed in seeds:
            slot.stage(feed(artifact, seed))
            slot.run()
            fetched.append(slot.fetch())
            at_once.append(_copies(fetched[-1]))
        return at_once, [_copies(outputs) for outputs in fetched]


def concurrent_answers(
    name: str, artifact: Artifact, load: Load, io: Io, calls: int
) -> tuple[list[Answer], list[list[Answer]]]:
    """Return the outputs of each slot alone, and those while all were called at once; slot ``i`` has seed ``i``.

    All slots have their inputs before any of them runs, and all have run before any is fetched.
    """
    with _session(registry.backend(name), artifact, load) as session:
        slots = session.open_slots(load.streams, io)
        collected: list[list[Answer]] = [[] for _ in slots]
        alone: list[Answer] = []
        for index, slot in enumerate(slots):
            slot.stage(feed(artifact, index))
            slot.run()
            alone.append(_copies(slot.fetch()))
        errors: list[BaseException] = []
        meeting = threading.Barrier(len(slots))

        def work(index: int, slot: Slot) -> None:
            try:
                for _ in range(calls):
                    slot.stage(feed(artifact, index))
                    meeting.wait()
                    slot.run()
                    meeting.wait()
                    collected[index].append(_copies(slot.fetch()))
                    meeting.wait()
            except BaseException as error:  # noqa: BLE001 - raised below, in the thread that is asked
                errors.append(error)
                meeting.abort()

        threads = [threading.Thread(target=work, args=(index, slot)) for index, slot in enumerate(slots)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return alone, collected


def queued_answers(name: str, artifact: Artifact, load: Load, calls: int) -> tuple[list[list[int]], list[Answer]]:
    """Start each slot ``calls`` times; return how often ``done`` was called each time, and every slot's last outputs.

    Both are empty where the backend queues nothing.
    """
    with _session(registry.backend(name), artifact, load) as session:
        slots = [slot for slot in session.open_slots(load.streams, "copy") if isinstance(slot, AsyncSlot)]
        counts = [
            [_start_and_wait(slot, feed(artifact, index)) for _ in range(calls)] for index, slot in enumerate(slots)
        ]
        return counts, [_copies(slot.fetch()) for slot in slots]


def effective(
    group: str, name: str, artifact: Artifact, load: Load, device: str = "cpu"
) -> dict[str, Any] | tuple[str, str]:
    """Return what the session reads back, or message and hint where the backend refuses."""
    backend = find(group, name)
    try:
        backend.import_runtime(load, device)
        session = backend.compile(artifact, load, device, _Phases())
    except Refusal as refusal:
        return refusal.message, refusal.hint
    session.close()
    return dict(session.effective)


def phases(group: str, name: str, artifact: Artifact, load: Load) -> list[str]:
    """Return which phases were opened and closed, in order, and close the session twice."""
    backend = find(group, name)
    opened = _Phases()
    backend.import_runtime(load, "cpu")
    session = backend.compile(artifact, load, "cpu", opened)
    session.close()
    session.close()
    return opened.log


def processors_used(name: str, artifact: Artifact, load: Load) -> tuple[float, float]:
    """Drive a backend without a pause; return its processors used, and those it would have used on a quiet machine.

    The first is CPU time over wall time of the whole process. The second adds the time its threads were ready
    to run but had to wait, which a busy machine takes from the first.
    """
    with _session(registry.backend(name), artifact, load) as session:
        fed = feed(artifact, 0)
        slots = session.open_slots(load.streams, "copy")
        driver = make_driver(slots, [fed] * len(slots), "copy")
        samples, elapsed_ns = 1, 0
        while elapsed_ns < _PILOT_NS:
            samples *= 4
            elapsed_ns = int(driver.drive(samples).completion_ns[-1])
        samples = max(samples, _SATURATED_NS * samples // elapsed_ns)
        before = read_counters()
        driver.drive(samples)
        evidence = evidence_between(before, read_counters())
        waited_ns = evidence.run_queue_wait_ns or 0  # some kernels do not tell
        return evidence.cpu_ns / evidence.wall_ns, (evidence.cpu_ns + waited_ns) / evidence.wall_ns


class _Phases:
    """Writes down which phases are opened and closed."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.log.append(f"open {name}")
        try:
            yield
        finally:
            self.log.append(f"close {name}")


@contextmanager
def _session(backend: Backend, artifact: Artifact, load: Load) -> Iterator[Session]:
    backend.import_runtime(load, "cpu")
    session = backend.compile(artifact, load, "cpu", _Phases())
    try:
        yield session
    finally:
        session.close()


def _copies(outputs: Outputs) -> Answer:
    return [np.array(output) for output in outputs]


def _start_and_wait(slot: AsyncSlot, fed: Feed) -> int:
    called = threading.Event()
    count = [0]

    def done(error: BaseException | None) -> None:
        if error is not None:
            raise error
        count[0] += 1
        called.set()

    slot.stage(fed)
    slot.start(done)
    called.wait(_DONE_WITHIN_S)
    return count[0]
