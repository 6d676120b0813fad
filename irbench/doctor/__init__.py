"""What a machine is, what disturbs measurement on it and how to mend that, and whether it can be trusted."""

from irbench.doctor.activity import watch
from irbench.doctor.facts import Activity, CoreToCore, Facts, Machine
from irbench.doctor.findings import Finding, find
from irbench.doctor.machine import describe_machine
from irbench.doctor.report import Report
from irbench.doctor.self_comparison import SelfComparison, judge_self_comparison
from irbench.doctor.view import ReportView

__all__ = [
    "Activity",
    "CoreToCore",
    "Facts",
    "Finding",
    "Machine",
    "Report",
    "ReportView",
    "SelfComparison",
    "describe_machine",
    "find",
    "judge_self_comparison",
    "watch",
]
