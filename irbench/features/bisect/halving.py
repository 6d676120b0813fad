"""Halving versions until two neighbours differ. Versions that cannot be judged are left out, as git bisect does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from irbench.core.row import Speedup
from irbench.features.bisect.report import Side


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
