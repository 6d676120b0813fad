"""``irbench.doctor``: report on the machine, what disturbs measurements, and a backend against itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from irbench import bundles, registry
from irbench.address import BackendAddress
from irbench.api import values
from irbench.api.backend_rows import BackendRow, as_json, as_table, backend_rows
from irbench.api.display import Displayable
from irbench.api.measurement import measure_planned
from irbench.api.options import Readers, read_keywords
from irbench.api.processors import allowed_cpus, total_threads
from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.api.resolve import require_models, resolve_backends, resolve_bundles
from irbench.api.run_destination import RunDestination
from irbench.diagnostics import Facts, Report, describe_counters, describe_machine, find, judge_self_comparison, watch
from irbench.diagnostics.self_comparison import Outcome
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import reading_ns
from irbench.measure.lock import MeasurementLock, measuring
from irbench.measure.overhead import Overhead
from irbench.notices import Note
from irbench.onnx.probe_graph import matmul
from irbench.render.context import Context
from irbench.render.diagnosis import ReportView
from irbench.render.diagnosis_document import diagnosis_document
from irbench.render.diagnosis_summary import diagnosis_summary
from irbench.render.note_texts import note_text
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.system import host
from irbench.worker import call_in_worker
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Diagnosis", "SelfComparisonOptions", "diagnose", "doctor"]

_EXITS: Mapping[Outcome, ExitCode] = {
    "passed": ExitCode.OK,
    "failed": ExitCode.DIFFERENT,
    "undecided": ExitCode.UNDECIDED,
    "busy": ExitCode.UNDECIDED,
    "mismatch": ExitCode.DIFFERENT,
    "broken": ExitCode.FAILED_CELL,
    "interrupted": ExitCode.INTERRUPTED,
}
_DEADLINE_S = 60.0
_OWN_SHAPE = (1, 512, 512)
"""Of our own model's input: enough for some milliseconds of work, so that overheads do not decide."""


@dataclass(frozen=True)
class SelfComparisonOptions:
    """A backend that is to be measured against itself.

    Attributes:
        model: Anything that ``irbench run`` takes; empty for the model exported last, or one of our own.
        backend: Its name, perhaps with a device; ``None`` for one that may serve as a reference.
        threads: Total for each process, ``native``, or ``None`` for the physical cores.
        cpus: Processors that it may use; ``None`` for all that are allowed.
        budget: Wall time it may take, in seconds; ``None`` for the usual.
        results: Where the run is kept; ``None`` for the usual place.
        no_lock: Whether others may measure on this machine meanwhile.
    """

    model: str = ""
    backend: str | None = None
    threads: int | Literal["native"] | None = None
    cpus: tuple[int, ...] | None = None
    budget: float | None = None
    results: Path | None = None
    no_lock: bool = False


class Diagnosis(Displayable):
    """What the doctor found.

    Attributes:
        report: The machine, what disturbs measurement on it, and a backend against itself where that was asked for.
        backends: What is known of each backend.
    """

    def __init__(self, report: Report, backends: Sequence[BackendRow]) -> None:
        self.report = report
        self.backends = tuple(backends)

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench doctor`` exits with."""
        found = self.report.self_comparison
        return ExitCode.OK if found is None else _EXITS[found.outcome]

    def to_dict(self) -> dict[str, Any]:
        """Return all that was found as JSON values."""
        return diagnosis_document(self.report, [as_json(row) for row in self.backends])

    def to_json(self) -> str:
        """Return all that was found as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __repr__(self) -> str:
        """Return how many findings there are."""
        return f"<Diagnosis: {diagnosis_summary(self.report.findings)}>"

    def __rich__(self) -> RenderableType:
        """Return the report as ``irbench doctor`` prints it; called by rich."""
        return ReportView(self.report, as_table(self.backends))


def doctor(
    aa: str | PathLike[str] | bool = False,
    *,
    backend: str | None = None,
    threads: int | str | None = None,
    cpus: str | int | Iterable[int] | None = None,
    budget: str | float | timedelta | None = None,
    no_lock: bool = False,
    results: str | PathLike[str] | None = None,
    progress: ProgressOption = "auto",
) -> Diagnosis:
    """Look at this machine for some seconds and say what disturbs measurement, and how to fix it.

    Args:
        aa: Also measure a backend against itself: on this model, or with ``True`` on the model exported last.
        backend: For ``aa``; a reference where none is named.
        threads: For ``aa``: total for each process, or ``"native"``.
        cpus: For ``aa``: processors it may use.
        budget: For ``aa``: ``"90s"`` or seconds.
        no_lock: For ``aa``: measure though another irbench does on this machine.
        results: For ``aa``: the folder where runs are kept.
        progress: As of :func:`irbench.run`.

    Raises:
        IrbenchError: This is not Linux, or what is to be measured cannot be.
    """
    given = {
        "backend": backend,
        "threads": threads,
        "cpus": cpus,
        "budget": budget,
        "no_lock": no_lock,
        "results": results,
    }
    read = read_keywords("doctor", given, _READERS)
    asked = _self_comparison(aa, read)
    with reporting(progress) as reporter:
        return diagnose(asked, reporter)


def _self_comparison(aa: str | PathLike[str] | bool, read: Mapping[str, Any]) -> SelfComparisonOptions | None:
    """Return what is to be measured against itself, if anything.

    Raises:
        IrbenchError: Options are given for it, and it is not wanted.
    """
    if aa is not None and aa is not False:
        return SelfComparisonOptions("" if aa is True else str(aa), **read)
    if any(value is not False for value in read.values()):
        raise IrbenchError("backend, threads, cpus, budget, no_lock and results belong to aa.", hint="Add aa=True.")
    return None


def diagnose(asked: SelfComparisonOptions | None, reporter: Reporter) -> Diagnosis:
    """Return what was found.

    Args:
        asked: What to measure against itself, if anything.
        reporter: Hears what is done.

    Raises:
        IrbenchError: This is not Linux, or what is to be measured cannot be.
    """
    host.require_linux()
    if asked is not None:  # what is mistyped waits for nobody who measures
        resolve_backends([asked.backend] if asked.backend else ())
        require_models([asked.model] if asked.model else [], everything=False)
    with _place(asked) as lock, scratch_folder() as folder:
        # a backend or model that is not there is told before anything is looked at
        request = None if asked is None else _request(asked, folder, reporter.say)
        facts, overhead = _look(reporter.say)
        self_comparison = None
        if asked is not None and request is not None and lock is not None:
            groups = plan(request, prepare(request, folder))
            stored = measure_planned(request, groups, folder, RunDestination(asked.results), lock, reporter)
            self_comparison = judge_self_comparison(stored.document, stored.folder, request.timing)
    report = Report(facts, find(facts), overhead, self_comparison)
    return Diagnosis(report, backend_rows(look=False, say=reporter.say))


def _look(say: Say) -> tuple[Facts, Overhead]:
    say("checking this machine ...")
    machine = describe_machine()
    activity = watch(machine.cpus)
    overhead: Overhead = call_in_worker("irbench.measure.overhead:measure_overhead", deadline_s=_DEADLINE_S)
    return Facts(machine, activity, reading_ns(), describe_counters()), overhead


def _request(asked: SelfComparisonOptions, scratch: Path, say: Say) -> RunRequest:
    """Return the plan of a run in which one backend is named twice, and say what was chosen for want of a name."""
    backend, why_backend = _backend(asked.backend)
    model, why_model = _model(asked.model, scratch)
    notes = tuple(note for note in (why_backend, why_model) if note is not None)
    for note in notes:
        say(note_text(note, Context()))
    cpus = allowed_cpus(asked.cpus)
    return RunRequest(
        bundles=resolve_bundles([model], everything=False, say=say),
        backends=(backend, backend),
        notes=notes,
        threads=(total_threads(asked.threads, cpus),),
        cpus=cpus,
        budget_s=asked.budget,
    ).with_budget_for(1, 1)


def _place(asked: SelfComparisonOptions | None) -> AbstractContextManager[MeasurementLock | None]:
    """Return what keeps others from measuring meanwhile, where anything is measured."""
    if asked is None:
        return nullcontext()
    return measuring(asked.model or "a backend against itself", insist=asked.no_lock)


def _backend(asked: str | None) -> tuple[BackendAddress, Note | None]:
    """Return the backend, and why it was chosen where none was named.

    A runtime that others are held against is the one whose steadiness says most of the machine.
    """
    if asked is not None:
        return resolve_backends([asked])[0], None
    installed = resolve_backends(())
    trusted = [address for address in map(BackendAddress, registry.references_in_order()) if address in installed]
    chosen = (trusted or installed)[0]
    return chosen, Note("chosen-backend", {"backend": str(chosen), "is_reference": bool(trusted)})


def _model(asked: str, scratch: Path) -> tuple[str, Note | None]:
    """Return the model's name, folder or file, and why it was chosen where none was named."""
    if asked:
        return asked, None
    latest = bundles.latest()
    if latest is None:
        return str(matmul(scratch, "fp32", _OWN_SHAPE).path), Note("chosen-model", {"model": None})
    return str(latest), Note("chosen-model", {"model": latest.parent.name})


_READERS: Readers = {
    "backend": ('"ort"', values.text),
    "threads": ('4, or "native"', values.threads),
    "cpus": ('[0, 1], or "0-3,8"', values.cpus),
    "budget": ('"90s", or 90', values.duration_s),
    "no_lock": ("True", values.flag),
    "results": ('"./results"', Path),
}
