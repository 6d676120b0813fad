"""Commands that make more processors available, by kind of container."""

from __future__ import annotations

from collections.abc import Iterable

from irbench.options.values import cpu_list

_UPDATABLE = ("docker", "podman")
"""Containers whose own command changes their limits while they run."""


def where(container: str | None) -> str:
    """Return where processors are granted, to follow what is to be done; empty outside containers."""
    return "" if container is None else f" from outside the container ({container})"


def grant_cpus(container: str | None, cpus: Iterable[int]) -> str | None:
    """Return the command that lets us use these processors; ``None`` where it is not known."""
    if container is None:
        return f"taskset -pc {cpu_list(cpus)} $$"
    return f"{container} update --cpuset-cpus {cpu_list(cpus)} CONTAINER" if container in _UPDATABLE else None


def grant_time(container: str | None, processors: int) -> str | None:
    """Return the command that grants so many processors' time; ``None`` where it is not known."""
    if container == "kubernetes":
        return f"kubectl set resources deployment NAME --limits=cpu={processors}"
    return f"{container} update --cpus {processors} CONTAINER" if container in _UPDATABLE else None
