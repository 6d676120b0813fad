"""Halving versions until two neighbours differ, and what was found, as immutable values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.record import Failure, OutputError
from irbench.row import State
from irbench.row_figures import Speedup

Criterion: TypeAlias = Literal["speed", "answer"]
"""What is looked at: how fast the model runs, or what it answers."""
Side: TypeAlias = Literal["old", "new", "undecided", "skipped"]
"""``old``: it behaves as the first version does; ``new``: as the last; ``skipped``: it cannot be installed or run."""
Conclusion: TypeAlias = Literal["found", "same", "undecided", "interrupted"]
"""``same``: the first and the last version do not differ; ``undecided``: whether they do could not be decided."""


@dataclass(frozen=True)
class Comparison:
    """A version against another.

    Attributes:
        baseline: The version that it was compared with.
        version: It.
        speedup: How many times as fast it is; ``None`` where nothing was timed.
        state: Of its row: ``mismatch`` where its answers differ, ``failed`` where it does not run the model.
        output_error: How far its answers are from those of the baseline; ``None`` where they were not compared.
        failure: Why its answers differ, or why it was not compared.
        run_id: The stored run; ``None`` where nothing was timed.
    """

    baseline: str
    version: str
    speedup: Speedup | None = None
    state: State | None = None
    output_error: OutputError | None = None
    failure: Failure | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class Step:
    """One version that was tried.

    Attributes:
        comparison: With the first version.
        side: What follows from it.
        attempts: How often it was compared: an undecided comparison is repeated with more time.
    """

    comparison: Comparison
    side: Side
    attempts: int = 1

    @property
    def version(self) -> str:
        """The version that was tried."""
        return self.comparison.version


@dataclass(frozen=True)
class BisectReport:
    """The document of a search.

    Attributes:
        model: What was run.
        runtime: The distribution whose versions were searched.
        backend: The backend, with its device.
        by: What was looked at.
        threshold: Smallest change of speed that counts, as a fraction of 1; for answers the largest relative error that
            does not count, ``None`` for the tolerance of the precision.
        versions: From the first to the last, those that were not tried included.
        steps: What was tried, in order; the first is the last version.
        conclusion: What came out.
        last_old: The newest version that behaves as the first; ``None`` where nothing was found.
        first_new: The oldest that behaves as the last.
        untested: Versions between these two that could not be judged.
        evidence: ``first_new`` against ``last_old``; ``None`` where nothing was found, or it was interrupted.
        results: The folder where its runs are kept, as the user named it; ``None`` for the usual place.
    """

    model: str
    runtime: str
    backend: str
    by: Criterion
    threshold: float | None
    versions: tuple[str, ...]
    steps: tuple[Step, ...]
    conclusion: Conclusion
    last_old: str | None = None
    first_new: str | None = None
    untested: tuple[str, ...] = ()
    evidence: Comparison | None = None
    results: str | None = None


def bounds(versions: Sequence[str], sides: Mapping[str, Side]) -> tuple[str, str]:
    """Return the two versions between which the change lies, as far as is known.

    Args:
        versions: The oldest first.
        sides: What is known; the first version is ``old``, the last is ``new``.
    """
    first_new = next(version for version in versions if sides.get(version) == "new")
    before = versions[: versions.index(first_new)]
    return [version for version in before if sides.get(version) == "old"][-1], first_new


def next_version(versions: Sequence[str], sides: Mapping[str, Side]) -> str | None:
    """Return the version to try next, the nearest to the middle; ``None`` where the change is known as well as it can.

    Args:
        versions: The oldest first.
        sides: What is known; the first version is ``old``, the last is ``new``.
    """
    low, high = (versions.index(version) for version in bounds(versions, sides))
    left = [place for place in range(low + 1, high) if versions[place] not in sides]
    return versions[min(left, key=lambda place: abs(2 * place - low - high))] if left else None


def untested(versions: Sequence[str], sides: Mapping[str, Side]) -> tuple[str, ...]:
    """Return the versions between the two of :func:`bounds`: what they did could not be judged."""
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
