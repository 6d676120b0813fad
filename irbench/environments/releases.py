"""The released versions of a runtime, from uv: it is asked for the newest below the last one, again and again."""

from __future__ import annotations

from irbench.environments.sources import exact_release
from irbench.environments.uv import Unsolvable
from irbench.errors import IrbenchError

_MOST = 500


def releases_between(distribution: str, first: str, last: str) -> tuple[str, ...]:
    """Return the versions from one to another, both included, the oldest first.

    Those without a wheel for this Python are left out, and pre-releases unless a bound is one.

    Args:
        distribution: Of the runtime.
        first: The oldest: ``1.22`` means 1.22.0.
        last: The newest.

    Raises:
        IrbenchError: There are fewer than two, or uv failed.
    """
    found: list[str] = []
    bound = f"<={last}"
    while len(found) < _MOST:
        try:
            found.append(exact_release(distribution, f">={first},{bound}").version)
        except Unsolvable as error:
            return _at_least_two(found, f"{distribution} from {first} to {last}", error)
        bound = f"<{found[-1]}"
    raise IrbenchError(f"There are over {_MOST} versions of {distribution}.", hint="Choose nearer ends.")


def _at_least_two(found: list[str], asked: str, error: Unsolvable) -> tuple[str, ...]:
    if not found:
        raise IrbenchError(
            f"There is no release of {asked} for this Python.",
            hint=f"Check the name, and give the older version first. {error.message}",
        )
    if len(found) == 1:
        raise IrbenchError(f"There is one release of {asked}: {found[0]}.", hint="Choose ends that are further apart.")
    return tuple(reversed(found))
