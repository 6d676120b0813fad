"""What the contract suite does with a backend, each run inside a worker; the tests judge what comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import models
import numpy as np

from irbench.core import registry
from irbench.core.feeds import generate, lay_out
from irbench.measure.drive import make_driver
from irbench.measure.kernel_evidence import evidence_between, read_counters
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Artifact, InputSpec, Io, Load
from irbench.spi import Array, AsyncSlot, Backend, Feed, Refusal, Session

BATCH = 3
_DONE_WITHIN_S = 30
_PILOT_NS = 100_000_000
_SATURATED_NS = 600_000_000


def write_onnx(folder: Path) -> Artifact:
    return bind(models.mlp(folder), {"batch": BATCH}, folder)


def write_tf_graph(folder: Path) -> Artifact:
    import tf_models

    return bind(tf_models.write_dense(folder), {"batch": BATCH}, folder)


def widened(artifact: Artifact, folder: Path, batch: int) -> Artifact:
    """Return the same model at a larger batch, for checks that need every call to take a while."""
    if artifact.kind == "onnx":
        return bind(models.mlp(folder), {"batch": batch}, folder)
    return replace(
        artifact,
        inputs=tuple(replace(tensor, shape=(batch, *tensor.shape[1:])) for tensor in artifact.inputs),
        outputs=tuple(replace(tensor, shape=(batch, *tensor.shape[1:])) for tensor in artifact.outputs),
    )


def feed(artifact: Artifact, seed: int) -> Feed:
    sizes = {"batch": BATCH}
    return lay_out(generate([InputSpec(tensor, -1.0, 1.0) for tensor in artifact.inputs], sizes, seed), artifact)


def answers(group: str, name: str, artifact: Artifact, load: Load, io: Io, seeds: Sequence[int]) -> list[list[Array]]:
    """Return the outputs of one slot to one feed after the other, all fetched before any is copied."""
    with _session(_find(group, name), artifact, load) as session:
        (slot,) = session.open_slots(1, io)
        fetched = []
        for seed in seeds:
            slot.stage(feed(artifact, seed))
            slot.run()
            fetched.append(slot.fetch())
        return [[np.array(tensor) for tensor in outputs] for outputs in fetched]


def concurrent_answers(name: str, artifact: Artifact, load: Load, io: Io, calls: int) -> list[list[list[Array]]]:
    """Return the outputs that each slot gave while all of them were called at once; slot ``i`` has seed ``i``."""
    with _session(registry.backend(name), artifact, load) as session:
        slots = session.open_slots(load.streams, io)
        collected: list[list[list[Array]]] = [[] for _ in slots]
        start = threading.Barrier(len(slots))

        def work(index: int) -> None:
            start.wait()
            for _ in range(calls):
                slots[index].stage(feed(artifact, index))
                slots[index].run()
                collected[index].append([np.array(output) for output in slots[index].fetch()])

        threads = [threading.Thread(target=work, args=(index,)) for index in range(len(slots))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return collected


def queued_answers(name: str, artifact: Artifact, load: Load, calls: int) -> tuple[list[list[int]], list[list[Array]]]:
    """Start each slot ``calls`` times; return how often ``done`` was called each time, and every slot's last outputs.

    Both are empty where the backend queues nothing.
    """
    with _session(registry.backend(name), artifact, load) as session:
        slots = [slot for slot in session.open_slots(load.streams, "copy") if isinstance(slot, AsyncSlot)]
        counts = [
            [_start_and_wait(slot, feed(artifact, index)) for _ in range(calls)] for index, slot in enumerate(slots)
        ]
        return counts, [[np.array(output) for output in slot.fetch()] for slot in slots]


def effective(name: str, artifact: Artifact, load: Load, device: str = "cpu") -> dict[str, Any] | tuple[str, str]:
    """Return what the session reads back, or message and hint where the backend refuses."""
    backend = registry.backend(name)
    try:
        backend.import_runtime(load, device)
        session = backend.compile(artifact, load, device, _Phases())
    except Refusal as refusal:
        return refusal.message, refusal.hint
    session.close()
    return dict(session.effective)


def phases(name: str, artifact: Artifact, load: Load) -> list[str]:
    """Return which phases were opened and closed, in order, and close the session twice."""
    backend = registry.backend(name)
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
        fed = lay_out(generate([InputSpec(tensor, -1.0, 1.0) for tensor in artifact.inputs], {}, 0), artifact)
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
        used_ns = evidence.cpu_ns
        return used_ns / evidence.wall_ns, (used_ns + evidence.run_queue_wait_ns) / evidence.wall_ns


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


def _find(group: str, name: str) -> Backend:
    return registry.reference(name) if group == registry.REFERENCES else registry.backend(name)


@contextmanager
def _session(backend: Backend, artifact: Artifact, load: Load) -> Iterator[Session]:
    backend.import_runtime(load, "cpu")
    session = backend.compile(artifact, load, "cpu", _Phases())
    try:
        yield session
    finally:
        session.close()


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


def zoo_answer(name: str, folder: Path, load: Load, scratch: Path) -> tuple[list[Array], str]:
    """Return what a backend answers to a bundle's own inputs, and the precision it computed in."""
    from irbench.store import bundles

    bundle = bundles.load(folder)
    backend = registry.backend(name)
    kept = bundle.artifact(backend.consumes)
    assert kept is not None
    sizes = {**bundle.defaults, "batch": load.batch}
    artifact = bind(kept, sizes, scratch)
    with _session(backend, artifact, load) as session:
        (slot,) = session.open_slots(1, "copy")
        slot.stage(lay_out(generate(bundle.inputs, sizes, bundle.seed), artifact))
        slot.run()
        return [np.array(output) for output in slot.fetch()], str(session.effective["precision"])
