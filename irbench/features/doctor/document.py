"""What the doctor found, as a document for programs.

The document's keys are stable; ``null`` is what is unknown or was not asked for:

``machine``
    What stays: every attribute of :class:`irbench.features.doctor.facts.Machine`. ``confinement`` has ``landlock`` (its
    version, 0 where there is none) and ``seccomp``.
``activity``
    What went on for a moment: ``seconds``, ``foreign_share``, ``programs`` (``name``, ``process_id``, ``share``,
    ``command``, ``stoppable``), ``stolen_share``, ``throttled_share``, ``pressure``, ``load_average``,
    ``unanswered_looks``. Shares are of one processor.
``counters``
    What ``irbench run --counters`` can count: ``version`` of perf, ``available`` groups, and ``unavailable`` ones with
    the ``code`` and the ``facts`` of why; null where nobody looked.
``core_to_core``
    ``median_ns``, ``low_ns``, ``high_ns``, ``regimes_ns`` (one, or near and far; empty where there are too few looks to
    tell), ``samples_ns``; null with one processor, or where no look was answered.
``overhead``
    Nanoseconds of irbench's loop for each timed call beyond a bare one: ``cost_ns``, ``cost_low_ns``, ``cost_high_ns``
    (median and quartiles over ``repeats``), ``bare_ns``, ``goal_ns``, ``within_goal``.
``backends``
    As ``irbench backends --format json`` lists them.
``findings``
    In the order of what they usually cost: ``code``, ``facts``, the words made of them (``found``, ``effect``,
    ``remedy``, ``command``), and ``lasting`` (whether nothing done on the machine fixes it).
``verdict``
    The findings in one sentence.
``peak``
    What the machine attains at most: ``outcome`` (``measured``, ``kept`` or ``interrupted``), ``not_kept`` (why what
    was measured is not kept: one of :data:`irbench.diagnostics.NotKept`, or null), ``measured`` (when), ``command``,
    ``run_id``, ``compute`` and ``bandwidth`` (with intervals over launches: every attribute of
    :class:`irbench.roofline.ComputePeak` and :class:`irbench.roofline.Bandwidth`), and ``ridge_points``; null where
    that is not known and was not asked for.
``aa``
    A backend against itself (``--aa``): ``run_id``, ``folder``, ``model``, ``backend``, ``launches``, ``speedup``
    (``value``, ``low``, ``high``), ``verdict``, ``smallest_difference`` (a fraction: what 80 % of such runs find),
    ``outcome`` (one of :data:`irbench.features.doctor.self_comparison.Outcome`), ``message``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from irbench.features.doctor.facts import CoreToCore
from irbench.features.doctor.findings import Finding, findings_summary
from irbench.features.doctor.peaks_view import peaks_document
from irbench.features.doctor.report import GOAL_NS, Report, quartiles_ns
from irbench.features.doctor.self_comparison import SelfComparison
from irbench.features.doctor.self_comparison_view import self_comparison_message
from irbench.measure.overhead import Overhead


def diagnosis_document(report: Report, backends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return everything as JSON values.

    Args:
        report: What was found.
        backends: The installed and the missing ones, as JSON values.
    """
    activity = asdict(report.facts.activity)
    del activity["core_to_core"]  # it has a place of its own
    return {
        "machine": asdict(report.facts.machine),
        "activity": activity,
        "counters": None if report.facts.counters is None else msgspec.to_builtins(report.facts.counters),
        "core_to_core": _link(report.facts.activity.core_to_core),
        "overhead": _overhead(report.overhead),
        "backends": list(backends),
        "findings": [_finding(finding, compared=report.self_comparison is not None) for finding in report.findings],
        "verdict": findings_summary(report.findings),
        "peak": peaks_document(report.peak),
        "aa": None if report.self_comparison is None else _self_comparison(report.self_comparison),
    }


def _finding(finding: Finding, *, compared: bool) -> dict[str, Any]:
    words = asdict(finding.words_after_comparison() if compared else finding.words())
    return {"code": finding.code, "facts": msgspec.to_builtins(finding.facts), **words, "lasting": finding.lasting}


def _link(link: CoreToCore | None) -> dict[str, Any] | None:
    if link is None:
        return None
    samples_ns = link.samples_ns
    return {
        "median_ns": link.median_ns,
        "low_ns": min(samples_ns),
        "high_ns": max(samples_ns),
        "regimes_ns": list(link.regimes_ns),
        "samples_ns": list(samples_ns),
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


def _self_comparison(self_comparison: SelfComparison) -> dict[str, Any]:
    found = self_comparison.speedup
    return {
        "run_id": self_comparison.run_id,
        "folder": str(self_comparison.folder),
        "model": self_comparison.table.model,
        "backend": self_comparison.table.cells[0].backend,
        "launches": self_comparison.table.launches,
        "speedup": None if found is None else {"value": found.value, "low": found.low, "high": found.high},
        "verdict": None if found is None else found.verdict,
        "smallest_difference": self_comparison.smallest_difference,
        "outcome": self_comparison.outcome,
        "message": self_comparison_message(self_comparison),
    }
