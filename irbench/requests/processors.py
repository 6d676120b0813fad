"""How many threads and processes a request asks for, and on which processors."""

from __future__ import annotations

from typing import Literal

from irbench.errors import IrbenchError
from irbench.system import host


def asked_threads(
    asked: tuple[int | Literal["native"], ...] | None, cpus: tuple[int, ...] | None
) -> tuple[int | None, ...]:
    """Return the threads of the processes of each row, each number once."""
    return tuple(dict.fromkeys(total_threads(count, cpus) for count in asked or (None,)))


def total_threads(asked: int | Literal["native"] | None, cpus: tuple[int, ...] | None) -> int | None:
    """Return the threads of each process; ``None`` leaves them to the runtimes."""
    if asked is None:
        return host.allowance(cpus).threads
    return asked if isinstance(asked, int) else None


def allowed_cpus(asked: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the processors that were asked for.

    Raises:
        IrbenchError: One of them is not available to this process.
    """
    allowed = host.allowance().cpus
    missing = sorted(set(asked or ()) - set(allowed))
    if missing:
        listing = ",".join(str(cpu) for cpu in allowed)
        raise IrbenchError(
            f"--cpus contains processor {missing[0]}, which is not available.", hint=(f"Available: {listing}")
        )
    return asked


def refuse_too_many_instances(instances: tuple[int, ...], cpus: tuple[int, ...] | None) -> None:
    """Refuse more processes than there are processors, of which each is to have its own.

    Raises:
        IrbenchError: That is so.
    """
    processors = len(host.allowance(cpus).cpus)
    if max(instances) > processors:
        raise IrbenchError(
            f"--instances {max(instances)} needs as many processors, and {processors} can be used.",
            hint="Each instance has processors of its own: use fewer of them, or more processors with --cpus.",
        )
