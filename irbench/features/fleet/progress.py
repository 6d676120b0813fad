"""What is told while a fleet measures: a line for each event, and for each target one that stands until it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain, islice

from irbench.api.progress import Reporter
from irbench.core.quantities import plural, size_text
from irbench.errors import one_line
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.journal import End, JobRecord
from irbench.features.fleet.messages import SentFile, TargetFacts
from irbench.features.fleet.problems import TargetProblem, problems_text
from irbench.measure.clock import utc_now

LARGEST_SKEW_S = 60.0
"""A clock that differs by more is told."""
MOST_TARGETS = 20
"""So many targets are listed, those that do something or have a problem first; of the others, their number is told."""
_WAITS = "waits"
END_TEXTS: Mapping[End, str] = {
    "measured": "measured in part",
    "refused": "not possible there",
    "deaths": "its process was killed again and again",
    "busy": "somebody else measured there for too long",
    "no-target": "no target was there",
}
"""What is said of a table that has no run, by the end of its job."""


def clock_text(ahead_s: float) -> str:
    """Return by how much a clock is ahead, or behind."""
    return f"its clock is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} this machine's"


def problem_line(name: str, problem: TargetProblem) -> str:
    """Return what is wrong with a target, and how to fix it."""
    return f"{name}: {problem.text()}: {problem.remedy()}"


class FleetProgress:
    """Tells of each job that begins and ends, and shows who does what.

    Args:
        reporter: Where it is told.
        total: How many jobs there are.
        done: How many of them ended before.
    """

    def __init__(self, reporter: Reporter, total: int, done: int = 0) -> None:
        self.total = total
        self.done = done
        self._say = reporter.say
        self._status = reporter.status
        self._doing: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._ended: Counter[str] = Counter()

    def ready(self, name: str, facts: TargetFacts, clock_ahead_s: float | None) -> None:
        """Tell that a target may measure."""
        self._say(f"{name}: ready ({facts.processor}, {facts.processors} processors)")
        if clock_ahead_s is not None and abs(clock_ahead_s) > LARGEST_SKEW_S:
            self._say(f"{name}: {clock_text(clock_ahead_s)}; times of its runs are its own")
        self._show(name, _WAITS)

    def not_there(self, name: str, problem: TargetProblem) -> None:
        """Tell why a target may not measure, or is not there, which is tried again."""
        self._say(problem_line(name, problem))
        self._show(name, f"{'' if problem.lasts else 'not there: '}{problem.text()}")

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
        self._show(name, _WAITS)

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
            self._ended[name] += 1
            self._show(name, _WAITS)

    def _show(self, name: str, doing: str) -> None:
        now, before = (self._waiting, self._doing) if doing == _WAITS else (self._doing, self._waiting)
        before.pop(name, None)
        now[name] = doing
        shown = dict(islice(chain(self._doing.items(), self._waiting.items()), MOST_TARGETS))
        width = max(map(len, shown))
        lines = [f"  {target:{width}}  {self._ended[target]:3} ended  {text}" for target, text in sorted(shown.items())]
        if hidden := len(self._doing) + len(self._waiting) - len(shown):
            lines.append(f"  and {plural(hidden, 'other target')}")
        self._status("\n".join((f"{self.done} of {self.total} jobs ended", *lines)))
