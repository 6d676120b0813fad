"""``irbench.doctor``: report on the machine, what disturbs measurements, and a backend against itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Literal, Unpack

from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.errors import IrbenchError
from irbench.features.backends.run import backend_rows
from irbench.features.doctor.findings import find
from irbench.features.doctor.gpus import describe_gpus
from irbench.features.doctor.keywords import DoctorKeywords
from irbench.features.doctor.machine import (
    Facts,
    describe_counters,
    describe_machine,
    watch,
)
from irbench.features.doctor.options import DOCTOR, DoctorOptions
from irbench.features.doctor.peaks import keep_whole_peaks, measure_peaks, peak_plan
from irbench.features.doctor.report import Diagnosis, PeakReport, Report
from irbench.features.doctor.self_comparison import (
    judge_self_comparison,
    self_comparison_request,
)
from irbench.measure.clock import reading_ns, utc_now
from irbench.measure.lock import MeasurementLock, measuring
from irbench.measure.overhead import Overhead
from irbench.options.option import names_keywords
from irbench.requests.resolve import require_models, resolve_backends
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runs.measurement import measure_planned
from irbench.runs.run_destination import RunDestination
from irbench.runs.work import known_peaks
from irbench.system import host
from irbench.worker import call_in_worker
from irbench.worker.scratch import scratch_folder

_DEADLINE_S = 60.0


@names_keywords(DOCTOR)
def doctor(
    aa: str | PathLike[str] | bool = False, *, progress: ProgressOption = "auto", **options: Unpack[DoctorKeywords]
) -> Diagnosis:
    """Look at this machine for some seconds and say what disturbs measurement, and how to fix it.

    Args:
        aa: Also measure a backend against itself: on this model, or with ``True`` on the model exported last.
        progress: As of :func:`irbench.run`.
        options: What else is measured, and how. Peaks of one backend or of some processors are not kept.

    Raises:
        IrbenchError: This is not Linux, or what is to be measured cannot be.
    """
    settings = DOCTOR.from_keywords(options)
    model = None if aa is None or aa is False else "" if aa is True else str(aa)
    if model is None:
        _refuse_options_of_aa(settings)
    with reporting(progress, DOCTOR) as reporter:
        return diagnose(model, settings, reporter)


def _refuse_options_of_aa(options: DoctorOptions) -> None:
    of_peak = {"peak", "backend", "cpus", "no_lock", "results"} if options.peak else set[str]()
    if any(getattr(options, name) for name in DOCTOR.options if name not in of_peak):
        raise IrbenchError(
            "threads and budget belong to aa; backend, cpus, no_lock and results to aa and peak.",
            hint="Add aa=True, or leave them out.",
        )


def diagnose(model: str | None, options: DoctorOptions, reporter: Reporter) -> Diagnosis:
    """Return what was found.

    ``model`` is what a backend is measured against itself with: empty for the model exported last, or for one of
    irbench's own; ``None`` where no backend is.
    """
    host.require_linux()
    if model is not None:  # what is mistyped waits for nobody who measures
        resolve_backends([options.backend] if options.backend else ())
        require_models([model] if model else [], everything=False)
    planned_peaks = peak_plan(options, describe_machine()) if options.peak else None
    with _place(model, options) as lock, scratch_folder() as folder:
        # a backend or model that is not there is told before anything is looked at
        request = None if model is None else self_comparison_request(model, options, folder, reporter.say)
        facts, overhead = _look(reporter.say)
        self_comparison, is_interrupted = None, False
        if request is not None and lock is not None:
            groups = plan(request, prepare(request, folder))
            stored = measure_planned(request, groups, folder, RunDestination(options.results), lock, reporter)
            self_comparison = judge_self_comparison(stored.document, stored.folder, request.timing)
            is_interrupted = stored.is_interrupted
        if planned_peaks is None or lock is None:
            peak = _known("kept")
        elif is_interrupted:
            peak = _known("interrupted")
        else:
            peaks = measure_peaks(planned_peaks, options, folder, lock, reporter)
            if peaks is None:
                peak = _known("interrupted")
            else:
                peak = PeakReport(peaks, "measured", utc_now(), keep_whole_peaks(peaks, options))
    report = Report(facts, find(facts), overhead, self_comparison, peak)
    return Diagnosis(report, backend_rows(look=False, say=reporter.say))


def _known(outcome: Literal["kept", "interrupted"]) -> PeakReport | None:
    known = known_peaks()
    return None if known is None and outcome == "kept" else PeakReport(known, outcome, utc_now())


def _look(say: Say) -> tuple[Facts, Overhead]:
    say("checking this machine ...")
    machine = describe_machine()
    activity = watch(machine.cpus)
    overhead: Overhead = call_in_worker("irbench.measure.overhead:measure_overhead", deadline_s=_DEADLINE_S)
    return Facts(machine, activity, reading_ns(), describe_counters(), describe_gpus()), overhead


def _place(model: str | None, options: DoctorOptions) -> AbstractContextManager[MeasurementLock | None]:
    """Return what keeps others from measuring meanwhile, where anything is measured."""
    if model is not None:
        return measuring(model or "a backend against itself", insist=options.no_lock)
    if options.peak:
        return measuring("the peaks of this machine", insist=options.no_lock)
    return nullcontext()
