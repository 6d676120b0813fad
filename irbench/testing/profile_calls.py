"""What the contract of profiles does with a backend, each call inside a worker; the contract judges what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irbench.core import registry
from irbench.measure.drive import complete_call, time_calls
from irbench.measure.kernel_evidence import PhaseLog
from irbench.onnx.reading.inventory import take_inventory
from irbench.spec import Artifact, Load
from irbench.spi import Array, InferenceProfile, ProfiledSession, ProfilingBackend, Refusal, Session
from irbench.testing.backend_calls import feed

_SETTLING = 5


def nodes_of_onnx(artifact: Artifact) -> list[str]:
    """Return what the nodes of an ONNX graph are called."""
    return [node.label for node in take_inventory(artifact.path).nodes]


def profiled(name: str, artifact: Artifact, load: Load, inferences: int) -> tuple[list[int], list[InferenceProfile]]:
    """Return the latencies of inferences in nanoseconds, and their profiles."""
    session = _profiled_session(name, artifact, load)
    call = _call(session, artifact)
    time_calls(call, _SETTLING)
    session.start_profile()
    latency_ns = time_calls(call, inferences)
    profiles = list(session.finish_profile(inferences))
    session.close()
    return [int(latency) for latency in latency_ns], profiles


def effective(name: str, artifact: Artifact, load: Load) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a session and a profiled one read back."""
    plain, recording = _session(name, artifact, load), _profiled_session(name, artifact, load)
    found = dict(plain.effective), dict(recording.effective)
    plain.close()
    recording.close()
    return found


def answers(name: str, artifact: Artifact, load: Load) -> tuple[Sequence[Array], Sequence[Array]]:
    """Return what a session answers that is made after a profiled one, and what that one answered."""
    recording = _profiled_session(name, artifact, load)
    during = _answer(recording, artifact)
    recording.close()
    plain = _session(name, artifact, load)
    after = _answer(plain, artifact)
    plain.close()
    return after, during


def missing(name: str, artifact: Artifact, load: Load, asked: int) -> tuple[str, str]:
    """Return the refusal of a session that is asked for more inferences than it made; empty texts without one."""
    session = _profiled_session(name, artifact, load)
    call = _call(session, artifact)
    session.start_profile()
    time_calls(call, 2)
    try:
        session.finish_profile(asked)
    except Refusal as refusal:
        return refusal.message, refusal.hint
    finally:
        session.close()
    return "", ""


def files_left(name: str, artifact: Artifact, load: Load, folder: Path) -> list[str]:
    """Return what a profile leaves behind in the folder for temporary files, once its session is closed."""
    import tempfile

    tempfile.tempdir = str(folder)
    try:
        profiled(name, artifact, load, 2)
        _profiled_session(name, artifact, load).close()
    finally:
        tempfile.tempdir = None
    return [path.name for path in folder.iterdir()]


def _profiled_session(name: str, artifact: Artifact, load: Load) -> ProfiledSession:
    backend = registry.backend(name)
    assert isinstance(backend, ProfilingBackend)
    backend.import_runtime(load, "cpu")
    return backend.compile_profiled(artifact, load, "cpu", PhaseLog())


def _session(name: str, artifact: Artifact, load: Load) -> Session:
    backend = registry.backend(name)
    backend.import_runtime(load, "cpu")
    return backend.compile(artifact, load, "cpu", PhaseLog())


def _call(session: Session, artifact: Artifact) -> Callable[[], object]:
    (slot,) = session.open_slots(1, "copy")
    return complete_call(slot, feed(artifact, 0), "copy")


def _answer(session: Session, artifact: Artifact) -> Sequence[Array]:
    (slot,) = session.open_slots(1, "copy")
    slot.stage(feed(artifact, 0))
    slot.run()
    return [np.array(output) for output in slot.fetch()]
