"""``irbench.doctor``: report on the machine, what disturbs measurements, and a backend against itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack

import msgspec

from irbench.api.display import Displayable
from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.errors import ExitCode, IrbenchError
from irbench.features.backends.run import BackendListing, BackendRow, as_json, backend_rows
from irbench.features.doctor.findings import Finding, find, findings_summary
from irbench.features.doctor.keywords import DoctorKeywords
from irbench.features.doctor.machine import (
    CoreToCore,
    Facts,
    describe_counters,
    describe_machine,
    watch,
)
from irbench.features.doctor.options import DOCTOR, DoctorOptions
from irbench.features.doctor.peaks import keep_whole_peaks, measure_peaks, peak_plan
from irbench.features.doctor.report import GOAL_NS, PeakReport, Report, quartiles_ns
from irbench.features.doctor.self_comparison import (
    Outcome,
    SelfComparison,
    judge_self_comparison,
    self_comparison_request,
)
from irbench.features.doctor.view import ReportView, self_comparison_message
from irbench.measure.clock import reading_ns, utc_now
from irbench.measure.lock import MeasurementLock, measuring
from irbench.measure.overhead import Overhead
from irbench.options.option import names_keywords
from irbench.requests.resolve import require_models, resolve_backends
from irbench.roofline import MachinePeaks, ridge_point
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runs.measurement import measure_planned
from irbench.runs.run_destination import RunDestination
from irbench.runs.work import known_peaks
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

    _command = DOCTOR

    def __init__(self, report: Report, backends: Sequence[BackendRow]) -> None:
        self.report = report
        self.backends = tuple(backends)

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench doctor`` exits with."""
        peak, comparison = self.report.peak, self.report.self_comparison
        if peak is not None and peak.outcome == "interrupted":
            return ExitCode.INTERRUPTED
        return ExitCode.OK if comparison is None else _EXITS[comparison.outcome]

    @property
    def peaks(self) -> MachinePeaks | None:
        """What the machine attains at most; ``None`` where it was never measured."""
        return None if self.report.peak is None else self.report.peak.peaks

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values; keys are stable, and null is what is unknown or was not asked for.

        ``machine``: every attribute of :class:`irbench.features.doctor.machine.Machine`; ``confinement`` has
        ``landlock`` (its version, 0 without it) and ``seccomp``.
        ``activity``: what went on for a moment; shares are of one processor.
        ``counters``: what ``irbench run --counters`` can count, and why other groups are unavailable.
        ``core_to_core``: half a round trip between the first two processors; ``regimes_ns`` are the near and the far
        one, or the only one; empty where there are too few samples to tell.
        ``overhead``: nanoseconds of irbench's loop for each timed call beyond a bare one: median and quartiles.
        ``backends``: as ``irbench backends --format json`` lists them.
        ``findings``: in the order of what they usually cost: ``code``, ``facts``, the words made of them, and
        ``lasting`` (whether nothing done on the machine fixes it); ``verdict`` has them in one sentence.
        ``peak``: ``outcome`` (``measured``, ``kept`` or ``interrupted``), ``not_kept`` (why the peaks are not kept),
        every attribute of :class:`irbench.roofline.MachinePeaks` but the samples, and ``ridge_points``.
        ``aa``: a backend against itself; ``smallest_difference`` is a fraction that 80 % of such runs detect.
        """
        return diagnosis_document(self.report, [as_json(row) for row in self.backends])

    def to_json(self) -> str:
        """Return all that was found as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __repr__(self) -> str:
        """Return how many findings there are."""
        return f"<Diagnosis: {findings_summary(self.report.findings)}>"

    def __rich__(self) -> RenderableType:
        """Return the report as ``irbench doctor`` prints it; called by rich."""
        return ReportView(self.report, BackendListing(self.backends))


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
    with reporting(progress) as reporter:
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
    return Facts(machine, activity, reading_ns(), describe_counters()), overhead


def _place(model: str | None, options: DoctorOptions) -> AbstractContextManager[MeasurementLock | None]:
    """Return what keeps others from measuring meanwhile, where anything is measured."""
    if model is not None:
        return measuring(model or "a backend against itself", insist=options.no_lock)
    if options.peak:
        return measuring("the peaks of this machine", insist=options.no_lock)
    return nullcontext()


def diagnosis_document(report: Report, backends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a report, and backends as JSON values, as JSON values; see :meth:`Diagnosis.to_dict`."""
    facts, comparison = report.facts, report.self_comparison
    activity = asdict(facts.activity)
    del activity["core_to_core"]  # it has a place of its own
    link = facts.activity.core_to_core
    return {
        "machine": asdict(facts.machine),
        "activity": activity,
        "counters": None if facts.counters is None else msgspec.to_builtins(facts.counters),
        "core_to_core": None if link is None else _link(link),
        "overhead": _overhead(report.overhead),
        "backends": list(backends),
        "findings": [_finding(finding, compared=comparison is not None) for finding in report.findings],
        "verdict": findings_summary(report.findings),
        "peak": peaks_document(report.peak),
        "aa": None if comparison is None else _self_comparison(comparison),
    }


def _finding(finding: Finding, *, compared: bool) -> dict[str, Any]:
    words = asdict(finding.words_after_comparison() if compared else finding.words())
    return {"code": finding.code, "facts": msgspec.to_builtins(finding.facts), **words, "lasting": finding.lasting}


def _link(link: CoreToCore) -> dict[str, Any]:
    return {
        "median_ns": link.median_ns,
        "low_ns": min(link.samples_ns),
        "high_ns": max(link.samples_ns),
        "regimes_ns": list(link.regimes_ns),
        "samples_ns": list(link.samples_ns),
    }


def _overhead(overhead: Overhead) -> dict[str, Any]:
    low_ns, high_ns = quartiles_ns(overhead.cost)
    return {
        "cost_ns": overhead.cost.median_ns,
        "cost_low_ns": low_ns,
        "cost_high_ns": high_ns,
        "bare_ns": overhead.bare.median_ns,
        "repeats": len(overhead.bare.values_ns),
        "goal_ns": GOAL_NS,
        "within_goal": overhead.cost.median_ns <= GOAL_NS,
    }


def _self_comparison(comparison: SelfComparison) -> dict[str, Any]:
    speedup, table = comparison.speedup, comparison.table
    return {
        "run_id": comparison.run_id,
        "folder": str(comparison.folder),
        "model": table.model,
        "backend": table.cells[0].backend,
        "launches": table.launches,
        "speedup": None if speedup is None else {"value": speedup.value, "low": speedup.low, "high": speedup.high},
        "verdict": None if speedup is None else speedup.verdict,
        "smallest_difference": comparison.smallest_difference,
        "outcome": comparison.outcome,
        "message": self_comparison_message(comparison),
    }


def peaks_document(report: PeakReport | None) -> dict[str, Any] | None:
    """Return everything but the raw times as JSON values; ``None`` where no peaks are known and none were asked for."""
    if report is None:
        return None
    peaks = report.peaks
    if peaks is None:
        return {"outcome": report.outcome, "measured": None, "compute": [], "bandwidth": []}
    known = {name: value for name, value in asdict(peaks).items() if name != "samples"}
    ridges = [
        {"precision": peak.precision, "threads": peak.threads, "level": level, "operations_per_byte": ridge}
        for peak in peaks.compute
        for level in peaks.levels
        if (ridge := ridge_point(peaks, peak.precision, peak.threads, level)) is not None
    ]
    return {"outcome": report.outcome, "not_kept": report.not_kept, **known, "ridge_points": ridges}
