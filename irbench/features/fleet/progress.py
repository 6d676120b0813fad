"""What is told while a fleet measures: a line for each event, and for each target one that stands until it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irbench.api.progress import Reporter, Say
from irbench.core.quantities import size_text
from irbench.errors import one_line
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.journal import End, JobRecord
from irbench.features.fleet.messages import SentFile, TargetFacts
from irbench.features.fleet.problems import TargetProblem, problems_text
from irbench.measure.clock import utc_now

LARGEST_SKEW_S = 60.0
"""A clock that differs by more is told."""
END_TEXTS: Mapping[End, str] = {
    "measured": "measured in part",
    "refused": "not possible there",
    "not-begun": "the target could not begin the job",
    "unknown-file": "it asks for a file that is not part of the job",
    "deaths": "its process was killed again and again",
    "busy": "somebody else measured there for too long",
    "no-target": "no target was there",
}
"""What is said of a table that has no run, by the end of its job."""


class Spoken:
    """Says what it is told of targets.

    Args:
        say: Receives a line for each.
    """

    def __init__(self, say: Say) -> None:
        self.unreachable: dict[str, TargetProblem] = {}
        self._say = say

    def refuse(self, name: str, problem: TargetProblem) -> None:
        """Say why a target may not measure."""
        self._say(problem_line(name, problem))

    def not_there(self, name: str, problem: TargetProblem) -> None:
        """Say why a target is not there, which is tried again."""
        self._say(problem_line(name, problem))

    def worker_ended(self, name: str, how: str) -> None:
        """Say how a worker ended."""
        self._say(worker_ended_line(name, how))


def problem_line(name: str, problem: TargetProblem) -> str:
    """Return what is wrong with a target, and how to fix it."""
    return f"{name}: {problem.text()}: {problem.remedy()}"


def worker_ended_line(name: str, how: str) -> str:
    """Return how a worker ended."""
    return f"{name}: its worker {how}; it is started again"


def clock_text(ahead_s: float) -> str:
    """Return by how much a clock is ahead, or behind."""
    return f"its clock is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} this machine's"


@dataclass
class FleetProgress:
    """Tells of each job that begins and ends, and shows who does what.

    Args:
        reporter: Where it is told.
        total: How many jobs there are.
        done: How many of them ended before.
    """

    reporter: Reporter
    total: int
    done: int = 0
    _doing: dict[str, str] = field(default_factory=dict)
    _ended: dict[str, int] = field(default_factory=dict)

    def ready(self, name: str, facts: TargetFacts, clock_ahead_s: float | None) -> None:
        """Tell that a target may measure."""
        self._say(f"{name}: ready ({facts.processor}, {facts.processors} processors)")
        if clock_ahead_s is not None and abs(clock_ahead_s) > LARGEST_SKEW_S:
            self._say(f"{name}: {clock_text(clock_ahead_s)}; times of its runs are its own")
        self._show(name, "waits")

    def refused(self, name: str, problem: TargetProblem) -> None:
        """Tell why a target may not measure."""
        self._say(problem_line(name, problem))
        self._show(name, problem.text())

    def not_there(self, name: str, problem: TargetProblem) -> None:
        """Tell why a target is not there, which is tried again."""
        self._say(problem_line(name, problem))
        self._show(name, f"not there: {problem.text()}")

    def worker_ended(self, name: str, how: str) -> None:
        """Tell how a worker ended."""
        self._say(worker_ended_line(name, how))

    def left(self, name: str, *, with_job: bool) -> None:
        """Tell that a target is not there any more."""
        self._say(f"{name}: left{'; its job is tried again' if with_job else ''}")
        self._show(name, "not there")

    def sent(self, name: str, file: SentFile) -> None:
        """Tell that a file is sent."""
        self._say(f"{name}: {file.place} is sent ({size_text(file.size_bytes)})")
        self._show(name, f"gets {file.place}")

    def busy(self, name: str, message: str, pause_s: float) -> None:
        """Tell that somebody else measures on a target."""
        self._say(f"{name}: {one_line(message)} Asked again in {pause_s:.0f} s")
        self._show(name, "waits for somebody else who measures there")

    def died(self, name: str, message: str) -> None:
        """Tell that the process of a job ended before its job."""
        self._say(f"{name}: {one_line(message)}; the job is tried again")
        self._show(name, "waits")

    def begun(self, name: str, job: Job) -> None:
        """Tell that a target begins a job."""
        self._say(f"{name}: measures {job.tables[0].label}")
        self._show(name, f"measures {job.tables[0].label}, since {utc_now().astimezone():%H:%M:%S}")

    def ended(self, name: str, job: Job, record: JobRecord) -> None:
        """Tell what came of a job; the name is empty where no target had it."""
        self.done += 1
        runs = ", ".join(table.run for table in record.tables if table.run)
        problem = next((table for table in record.tables if table.message), record)
        hint = record.hint or problem.hint
        said = f"stored {runs}" if runs else "not measured"
        known = record.message or problem.message or problems_text(record.problems)
        reason = known or ("" if runs else END_TEXTS[record.kind])
        self._say(f"{name or record.pool}: {job.tables[0].label}: {said}{f': {reason}' if reason else ''}")
        if hint:
            self._say(f"hint: {hint}")
        if name:
            self._ended[name] = self._ended.get(name, 0) + 1
            self._show(name, "waits")

    def _say(self, text: str) -> None:
        self.reporter.say(text)

    def _show(self, name: str, doing: str) -> None:
        self._doing[name] = doing
        width = max(map(len, self._doing))
        lines = (
            f"  {target:{width}}  {self._ended.get(target, 0):3} ended  {text}"
            for target, text in sorted(self._doing.items())
        )
        self.reporter.status("\n".join((f"{self.done} of {self.total} jobs ended", *lines)))
