"""Halving versions until two neighbours differ. Versions that cannot be judged are left out, as git bisect does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from irbench.api.progress import Say
from irbench.core.record import Failure
from irbench.core.row import Speedup
from irbench.environments.uv import Unsolvable
from irbench.features.bisect.report import BisectReport, Side, Step, VersionComparison


def bounds(versions: Sequence[str], sides: Mapping[str, Side]) -> tuple[str, str]:
    """Return the two versions between which the change lies, as far as is known.

    Versions stand in their order, the oldest first; the side of the first is ``old``, that of the last ``new``.
    """
    first_new = next(version for version in versions if sides.get(version) == "new")
    before = versions[: versions.index(first_new)]
    return [version for version in before if sides.get(version) == "old"][-1], first_new


def next_version(versions: Sequence[str], sides: Mapping[str, Side]) -> str | None:
    """Return the version to try next, the nearest to the middle; ``None`` where no other can be tried."""
    low, high = (versions.index(version) for version in bounds(versions, sides))
    left = [place for place in range(low + 1, high) if versions[place] not in sides]
    return versions[min(left, key=lambda place: abs(2 * place - low - high))] if left else None


def untested(versions: Sequence[str], sides: Mapping[str, Side]) -> tuple[str, ...]:
    """Return the versions between the two of :func:`bounds`, which could not be judged."""
    low, high = (versions.index(version) for version in bounds(versions, sides))
    return tuple(versions[low + 1 : high])


def ends_differ(speedup: Speedup, threshold: float) -> bool | None:
    """Return whether the last version is faster or slower than the first; ``None`` where that is undecided.

    Args:
        speedup: Of the last version, measured with ``threshold`` as the difference that counts as the same.
        threshold: Smallest change that counts, as a fraction of 1.
    """
    if speedup.verdict == "same":
        return False
    is_large = abs(math.log(speedup.value)) >= math.log1p(threshold)
    return True if speedup.verdict in ("faster", "slower") and is_large else None


def side_by_speed(speedup: Speedup, whole: float) -> Side:
    """Return which end a version is like: on which side of the middle between them its whole interval lies.

    Half of the change is left on either side, so that what scatters from version to version decides nothing.
    """
    middle = math.sqrt(whole)
    if speedup.low is None or speedup.high is None or speedup.low <= middle <= speedup.high:
        return "undecided"
    return "new" if (speedup.low > middle) == (whole > 1) else "old"


class VersionJudge(Protocol):
    """Compares versions."""

    def ends(self, first: str, last: str, /) -> tuple[Step, bool | None]:
        """Return the last version's step, and whether the two differ; ``None`` where that is undecided."""
        ...

    def side(self, first: str, version: str, /) -> Step:
        """Return which end a version is like."""
        ...

    def compare(self, baseline: str, version: str, /) -> VersionComparison:
        """Return a version compared with another."""
        ...


def search(
    report: BisectReport, judge: VersionJudge, say: Say, tell: Callable[[VersionComparison], None]
) -> BisectReport:
    """Return the report with what was found; an interrupt ends the search, and the report has the steps until then.

    What is tried is said, and what came out of it is told.
    """
    versions = report.versions
    first, last = versions[0], versions[-1]
    try:
        step, differ = judge.ends(first, last)
        report = _with_step(report, step, tell)
        if not differ:
            return replace(report, conclusion="same" if differ is False else "undecided")
        while (version := next_version(versions, _sides(report))) is not None:
            say(f"trying {version}")
            report = _with_step(report, _side(judge, first, version), tell)
        last_old, first_new = bounds(versions, _sides(report))
        between = untested(versions, _sides(report))
        report = replace(report, conclusion="found", last_old=last_old, first_new=first_new, untested=between)
        return replace(report, evidence=_evidence(report, judge))
    except KeyboardInterrupt:
        say("interrupted")
        return report


def _side(judge: VersionJudge, first: str, version: str) -> Step:
    try:
        return judge.side(first, version)
    except Unsolvable as error:  # as git bisect skips a commit that cannot be built
        failure = Failure("plan", error.message, error.hint or None)
        return Step(VersionComparison(first, version, failure=failure), "skipped")


def _evidence(report: BisectReport, judge: VersionJudge) -> VersionComparison:
    """Return the two neighbours compared with each other, which may have happened during the search."""
    assert report.last_old is not None
    assert report.first_new is not None
    for step in report.steps:
        if (step.comparison.baseline, step.version) == (report.last_old, report.first_new):
            return step.comparison
    return judge.compare(report.last_old, report.first_new)


def _sides(report: BisectReport) -> dict[str, Side]:
    return {report.versions[0]: "old", **{step.version: step.side for step in report.steps}}


def _with_step(report: BisectReport, step: Step, tell: Callable[[VersionComparison], None]) -> BisectReport:
    tell(step.comparison)
    return replace(report, steps=(*report.steps, step))
