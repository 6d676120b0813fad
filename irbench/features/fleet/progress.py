"""What is told while a fleet measures."""

from __future__ import annotations

from dataclasses import dataclass, field

from irbench.api.progress import Reporter
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.journal import JobRecord


@dataclass
class FleetProgress:
    """Tells of each job that begins and ends, and shows who measures what.

    Args:
        reporter: Where it is told.
        total: How many jobs there are.
        done: How many of them ended before.
    """

    reporter: Reporter
    total: int
    done: int = 0
    measuring: dict[str, str] = field(default_factory=dict)

    def say(self, text: str) -> None:
        """Tell a line."""
        self.reporter.say(text)

    def begun(self, target: str, job: Job) -> None:
        """Tell that a target begins a job."""
        self.measuring[target] = job.tables[0].label
        self.say(f"{target}: measures {job.tables[0].label}")
        self._show()

    def ended(self, target: str, job: Job, record: JobRecord) -> None:
        """Tell what came of a job."""
        self.measuring.pop(target, None)
        self.done += 1
        who = target or record.pool
        runs = ", ".join(table.run for table in record.tables if table.run)
        problems = tuple(table for table in record.tables if table.message)
        said = f"stored {runs}" if runs else "not measured"
        reason = record.message or (problems[0].message if problems else "")
        hint = record.hint or (problems[0].hint if problems else "")
        self.say(f"{who}: {job.tables[0].label}: {said}{f': {reason}' if reason else ''}")
        if hint:
            self.say(f"hint: {hint}")
        self._show()

    def _show(self) -> None:
        measuring = "; ".join(f"{target}: {label}" for target, label in sorted(self.measuring.items()))
        self.reporter.status(f"{self.done} of {self.total} jobs ended. {measuring}")
