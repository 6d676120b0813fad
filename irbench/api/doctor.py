"""``irbench.doctor``: report on the machine, what disturbs measurements, and a backend against itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from irbench.api.backend_rows import BackendRow, as_json, as_table, backend_rows
from irbench.api.display import Displayable
from irbench.api.known_peaks import known_peaks
from irbench.api.measurement import measure_planned
from irbench.api.peaks import PEAK_OPTIONS, PeakOptions, keep_whole_peaks, measure_peaks, peak_plan
from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.api.resolve import require_models, resolve_backends
from irbench.api.run_destination import RunDestination
from irbench.api.self_comparison import SelfComparisonOptions, self_comparison_request
from irbench.diagnostics import (
    Facts,
    PeakReport,
    Report,
    describe_counters,
    describe_machine,
    find,
    judge_self_comparison,
    watch,
)
from irbench.diagnostics.findings import findings_summary
from irbench.diagnostics.self_comparison import Outcome
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import reading_ns, utc_now
from irbench.measure.lock import MeasurementLock, measuring
from irbench.measure.overhead import Overhead
from irbench.options import values
from irbench.options.option import Readers, read_keywords
from irbench.options.values import path
from irbench.render.diagnosis import ReportView
from irbench.render.diagnosis_document import diagnosis_document
from irbench.roofline import MachinePeaks
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.system import host
from irbench.worker import call_in_worker
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        peak, found = self.report.peak, self.report.self_comparison
        if peak is not None and peak.outcome == "interrupted":
            return ExitCode.INTERRUPTED
        return ExitCode.OK if found is None else _EXITS[found.outcome]

    @property
    def peaks(self) -> MachinePeaks | None:
        """What the machine attains at most; ``None`` where it was never measured."""
        return None if self.report.peak is None else self.report.peak.peaks

    def to_dict(self) -> dict[str, Any]:
        """Return all that was found as JSON values."""
        return diagnosis_document(self.report, [as_json(row) for row in self.backends])

    def to_json(self) -> str:
        """Return all that was found as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __repr__(self) -> str:
        """Return how many findings there are."""
        return f"<Diagnosis: {findings_summary(self.report.findings)}>"

    def __rich__(self) -> RenderableType:
        """Return the report as ``irbench doctor`` prints it; called by rich."""
        return ReportView(self.report, as_table(self.backends))


def doctor(
    aa: str | PathLike[str] | bool = False,
    *,
    peak: bool = False,
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
        peak: Also measure what the machine attains at most, in some minutes: operations per second of matrix products
            for each precision, and the bandwidth of caches and memory. Otherwise what was measured last is reported.
        backend: For ``aa``, a reference where none is named; for ``peak``, the only one whose products are measured;
            peaks of one backend or of some processors are not kept.
        threads: For ``aa``: total for each process, or ``"native"``.
        cpus: For ``aa`` and ``peak``: processors that may be used.
        budget: For ``aa``: ``"90s"`` or seconds.
        no_lock: For ``aa`` and ``peak``: measure though another irbench does on this machine.
        results: For ``aa`` and ``peak``: the folder where runs are kept.
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
    wanted = read_keywords("doctor", {"peak": peak}, {"peak": ("True", values.flag)})["peak"]
    asked = _self_comparison(aa, read, is_peak=wanted)
    shared = {name: value for name, value in read.items() if name in PEAK_OPTIONS}
    with reporting(progress) as reporter:
        return diagnose(asked, reporter, PeakOptions(**shared) if wanted else None)


def _self_comparison(
    aa: str | PathLike[str] | bool, read: Mapping[str, Any], *, is_peak: bool
) -> SelfComparisonOptions | None:
    """Return what is to be measured against itself, if anything.

    Raises:
        IrbenchError: Options are given for what is not wanted.
    """
    if aa is not None and aa is not False:
        return SelfComparisonOptions("" if aa is True else str(aa), **read)
    given = {name for name, value in read.items() if value is not False}
    if given - (PEAK_OPTIONS if is_peak else set()):
        raise IrbenchError(
            "threads and budget belong to aa; backend, cpus, no_lock and results to aa and peak.",
            hint="Add aa=True, or leave them out.",
        )
    return None


def diagnose(
    asked: SelfComparisonOptions | None, reporter: Reporter, peak_options: PeakOptions | None = None
) -> Diagnosis:
    """Return what was found.

    Args:
        asked: What to measure against itself, if anything.
        reporter: Receives progress.
        peak_options: How peaks are measured; ``None`` where those that are known are reported.

    Raises:
        IrbenchError: This is not Linux, or what is to be measured cannot be.
    """
    host.require_linux()
    if asked is not None:  # what is mistyped waits for nobody who measures
        resolve_backends([asked.backend] if asked.backend else ())
        require_models([asked.model] if asked.model else [], everything=False)
    asked_peaks = None if peak_options is None else peak_plan(peak_options, describe_machine())
    with _place(asked, peak_options) as lock, scratch_folder() as folder:
        # a backend or model that is not there is told before anything is looked at
        request = None if asked is None else self_comparison_request(asked, folder, reporter.say)
        facts, overhead = _look(reporter.say)
        self_comparison, is_interrupted = None, False
        if asked is not None and request is not None and lock is not None:
            groups = plan(request, prepare(request, folder))
            stored = measure_planned(request, groups, folder, RunDestination(asked.results), lock, reporter)
            self_comparison = judge_self_comparison(stored.document, stored.folder, request.timing)
            is_interrupted = stored.is_interrupted
        if peak_options is None or asked_peaks is None or lock is None:
            peak = _known("kept")
        elif is_interrupted:
            peak = _known("interrupted")
        else:
            peak = _measured(measure_peaks(asked_peaks, peak_options, folder, lock, reporter), peak_options)
    report = Report(facts, find(facts), overhead, self_comparison, peak)
    return Diagnosis(report, backend_rows(look=False, say=reporter.say))


def _measured(peaks: MachinePeaks | None, options: PeakOptions) -> PeakReport | None:
    if peaks is None:
        return _known("interrupted")
    return PeakReport(peaks, "measured", utc_now(), keep_whole_peaks(peaks, options))


def _known(outcome: Literal["kept", "interrupted"]) -> PeakReport | None:
    known = known_peaks()
    return None if known is None and outcome == "kept" else PeakReport(known, outcome, utc_now())


def _look(say: Say) -> tuple[Facts, Overhead]:
    say("checking this machine ...")
    machine = describe_machine()
    activity = watch(machine.cpus)
    overhead: Overhead = call_in_worker("irbench.measure.overhead:measure_overhead", deadline_s=_DEADLINE_S)
    return Facts(machine, activity, reading_ns(), describe_counters()), overhead


def _place(
    asked: SelfComparisonOptions | None, peak_options: PeakOptions | None
) -> AbstractContextManager[MeasurementLock | None]:
    """Return what keeps others from measuring meanwhile, where anything is measured."""
    if asked is not None:
        return measuring(asked.model or "a backend against itself", insist=asked.no_lock)
    if peak_options is not None:
        return measuring("the peaks of this machine", insist=peak_options.no_lock)
    return nullcontext()


_READERS: Readers = {
    "backend": ('"ort"', values.text),
    "threads": ('4, or "native"', values.threads),
    "cpus": ('[0, 1], or "0-3,8"', values.cpus),
    "budget": ('"90s", or 90', values.duration_s),
    "no_lock": ("True", values.flag),
    "results": ('"./results"', path),
}
