"""What a machine is, what disturbs measurement on it and how to fix that, and whether it can be trusted."""

from irbench.diagnostics.activity import watch
from irbench.diagnostics.facts import Activity, CoreToCore, Facts, Machine
from irbench.diagnostics.findings import Finding, find
from irbench.diagnostics.machine import describe_counters, describe_machine
from irbench.diagnostics.report import NotKept, PeakReport, Report
from irbench.diagnostics.self_comparison import SelfComparison, judge_self_comparison

__all__ = [
    "Activity",
    "CoreToCore",
    "Facts",
    "Finding",
    "Machine",
    "NotKept",
    "PeakReport",
    "Report",
    "SelfComparison",
    "describe_counters",
    "describe_machine",
    "find",
    "judge_self_comparison",
    "watch",
]
