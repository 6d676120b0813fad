"""What a backend is measured against itself with, for ``irbench doctor --aa``."""

from __future__ import annotations

from pathlib import Path

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.features.doctor.options import DoctorOptions
from irbench.notices import Context, Note
from irbench.notices.notes import ChosenBackend, ChosenModel
from irbench.onnx.probe_graph import matmul
from irbench.requests.resolve import resolve_backends, resolve_bundles
from irbench.requests.run_requests import allowed_cpus, total_threads
from irbench.runner.request import RunRequest
from irbench.store import bundles

_OWN_SHAPE = (1, 512, 512)
"""Of our own model's input: enough for some milliseconds of work, so that overheads do not decide."""


def self_comparison_request(model: str, asked: DoctorOptions, scratch: Path, say: Say) -> RunRequest:
    """Return the plan of a run in which one backend is named twice, and say what was chosen for want of a name."""
    backend, why_backend = _backend(asked.backend)
    model, why_model = _model(model, scratch)
    notes = tuple(note for note in (why_backend, why_model) if note is not None)
    for note in notes:
        say(note.text(Context()))
    cpus = allowed_cpus(asked.cpus)
    return RunRequest(
        bundles=resolve_bundles([model], everything=False, say=say),
        backends=(backend, backend),
        notes=notes,
        threads=(total_threads(asked.threads, cpus),),
        cpus=cpus,
        budget_s=asked.budget,
    ).with_budget_for(1, 1)


def _backend(asked: str | None) -> tuple[BackendAddress, Note | None]:
    """Return the backend, and why it was chosen where none was named.

    A runtime that others are held against is the one whose steadiness says most of the machine.
    """
    if asked is not None:
        return resolve_backends([asked])[0], None
    installed = resolve_backends(())
    trusted = [address for address in map(BackendAddress, registry.references_in_order()) if address in installed]
    chosen = (trusted or installed)[0]
    return chosen, ChosenBackend(backend=str(chosen), is_reference=bool(trusted))


def _model(asked: str, scratch: Path) -> tuple[str, Note | None]:
    """Return the model's name, folder or file, and why it was chosen where none was named."""
    if asked:
        return asked, None
    latest = bundles.latest()
    if latest is None:
        return str(matmul(scratch, "fp32", _OWN_SHAPE).path), ChosenModel(model=None)
    return str(latest), ChosenModel(model=latest.parent.name)
