"""All that the doctor found, as one value."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from irbench.api.display import Displayable
from irbench.errors import ExitCode
from irbench.features.backends.report import BackendListing, BackendRow, as_json
from irbench.features.doctor.findings import Finding, findings_summary
from irbench.features.doctor.machine import (
    CoreToCore,
    Facts,
)
from irbench.features.doctor.options import DOCTOR
from irbench.features.doctor.self_comparison import (
    Outcome,
    SelfComparison,
)
from irbench.measure.overhead import Overhead, Repeats
from irbench.roofline import MachinePeaks, ridge_point

if TYPE_CHECKING:
    from rich.console import RenderableType

GOAL_NS = 300.0
"""What a timed call may cost beyond a bare loop."""
NotKept = Literal["restricted", "disturbed", "slower-together", "no-products", "no-bandwidth", "fewer-cores"]
"""Why peaks that were measured are not kept for the machine: a backend or processors were chosen, other programs
disturbed the measurement or must have, or something is missing that is known already."""


@dataclass(frozen=True)
class PeakReport:
    """What the machine attains at most.

    Attributes:
        peaks: As they are known; ``None`` where a measurement was interrupted and nothing was known before.
        outcome: Whether they were measured now, were kept since an earlier measurement, or are those of an earlier one
            because this one was interrupted.
        now: What their age is counted from, in UTC.
        not_kept: Why those that were measured now are not kept; ``None`` where they are.
    """

    peaks: MachinePeaks | None
    outcome: Literal["measured", "kept", "interrupted"]
    now: datetime
    not_kept: NotKept | None = None


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes:
        facts: What was seen of the machine.
        findings: What disturbs measurement, in the order of what it usually costs.
        overhead: What irbench's own loop costs.
        self_comparison: A backend against itself; ``None`` where that was not asked for.
        peak: What the machine attains at most; ``None`` where that is not known and was not asked for.
    """

    facts: Facts
    findings: tuple[Finding, ...]
    overhead: Overhead
    self_comparison: SelfComparison | None = None
    peak: PeakReport | None = None


def quartiles_ns(repeats: Repeats) -> tuple[float, float]:
    """Return between which values the middle half of at least two repeats lies; a disturbed one does not stretch it."""
    low_ns, _, high_ns = statistics.quantiles(repeats.values_ns, n=4, method="inclusive")
    return low_ns, high_ns


_EXITS: Mapping[Outcome, ExitCode] = {
    "passed": ExitCode.OK,
    "failed": ExitCode.DIFFERENT,
    "undecided": ExitCode.UNDECIDED,
    "busy": ExitCode.UNDECIDED,
    "mismatch": ExitCode.DIFFERENT,
    "broken": ExitCode.FAILED_CELL,
    "interrupted": ExitCode.INTERRUPTED,
}


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
        ``gpus``: every attribute of :class:`irbench.features.doctor.gpus.GpuFacts`.
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
        from irbench.features.doctor.view import ReportView

        return ReportView(self.report, BackendListing(self.backends))


def diagnosis_document(report: Report, backends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a report, and backends as JSON values, as JSON values; see :meth:`Diagnosis.to_dict`."""
    facts, comparison = report.facts, report.self_comparison
    activity = asdict(facts.activity)
    del activity["core_to_core"]  # it has a place of its own
    link = facts.activity.core_to_core
    return {
        "machine": asdict(facts.machine),
        "activity": activity,
        "gpus": msgspec.to_builtins(facts.gpus),
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
    from irbench.features.doctor.view import self_comparison_message

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
