"""Drive a search: compare the ends, halve what lies between, and compare the two neighbours that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from irbench.core.record import Failure
from irbench.environments.uv import Unsolvable
from irbench.features.bisect.halving import bounds, next_version, untested
from irbench.features.bisect.report import BisectReport, Comparison, Side, Step
from irbench.features.bisect.view import step_text


class Judge(Protocol):
    """Compares versions."""

    def ends(self, first: str, last: str, /) -> tuple[Step, bool | None]:
        """Return the last version's step, and whether the two differ; ``None`` where that is undecided."""
        ...

    def side(self, first: str, version: str, /) -> Step:
        """Return which end a version is like."""
        ...

    def compare(self, baseline: str, version: str, /) -> Comparison:
        """Return a version compared with another."""
        ...


def search(report: BisectReport, judge: Judge, say: Callable[[str], None]) -> BisectReport:
    """Return the report with what was found.

    An interrupt ends the search, and the report holds the steps until then.

    Args:
        report: What is searched, without steps.
        judge: Compares versions.
        say: Receives what each step showed.

    Raises:
        IrbenchError: The first or the last version cannot be installed or run.
    """
    versions = report.versions
    first, last = versions[0], versions[-1]
    try:
        step, differ = judge.ends(first, last)
        report = _with_step(report, step, say)
        if not differ:
            return replace(report, conclusion="same" if differ is False else "undecided")
        while (version := next_version(versions, _sides(report))) is not None:
            say(f"trying {version}")
            report = _with_step(report, _side(judge, first, version), say)
        last_old, first_new = bounds(versions, _sides(report))
        between = untested(versions, _sides(report))
        report = replace(report, conclusion="found", last_old=last_old, first_new=first_new, untested=between)
        return replace(report, evidence=_evidence(report, judge))
    except KeyboardInterrupt:
        say("interrupted")
        return report


def _side(judge: Judge, first: str, version: str) -> Step:
    try:
        return judge.side(first, version)
    except Unsolvable as error:  # as git bisect skips a commit that cannot be built
        failure = Failure("plan", error.message, error.hint or None)
        return Step(Comparison(first, version, failure=failure), "skipped")


def _evidence(report: BisectReport, judge: Judge) -> Comparison:
    """Return the two neighbours compared with each other, which the halving may have done already."""
    assert report.last_old is not None
    assert report.first_new is not None
    for step in report.steps:
        if (step.comparison.baseline, step.version) == (report.last_old, report.first_new):
            return step.comparison
    return judge.compare(report.last_old, report.first_new)


def _sides(report: BisectReport) -> dict[str, Side]:
    return {report.versions[0]: "old", **{step.version: step.side for step in report.steps}}


def _with_step(report: BisectReport, step: Step, say: Callable[[str], None]) -> BisectReport:
    say(step_text(step))
    return replace(report, steps=(*report.steps, step))
