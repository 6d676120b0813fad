"""What an environment needs besides its runtime, so that a worker of irbench can run in it."""

from __future__ import annotations

import re
from importlib import metadata

_NEEDED = ("numpy", "onnx")
"""What workers import of all that irbench requires; the rest is needed where results are stored and shown."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FLOOR = re.compile(r">=\s*([0-9.]+)")


def worker_requirements() -> dict[str, str]:
    """Return what irbench requires of its workers' environment, by distribution: ``{"numpy": "numpy>=2.1"}``."""
    found: dict[str, str] = {}
    for requirement in metadata.requires("irbench") or ():
        wanted, _, marker = requirement.partition(";")
        if "extra" not in marker and name_of(wanted) in _NEEDED:
            found[name_of(wanted)] = wanted.replace(" ", "")
    return found


def pinned_requirements(but: str) -> tuple[str, ...]:
    """Return the same in the versions that irbench runs with, so that environments differ in their runtime alone.

    Args:
        but: The distribution of the runtime, which is no part of it.
    """
    return tuple(f"{name}=={metadata.version(name)}" for name in worker_requirements() if name != but)


def name_of(requirement: str) -> str:
    """Return the distribution that a requirement names."""
    match = _NAME.match(requirement.strip())
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def is_older(version: str, requirement: str) -> bool:
    """Whether a version is below the lower bound of a requirement, by its numbers alone."""
    floor = _FLOOR.search(requirement)
    return floor is not None and _numbers(version) < _numbers(floor[1])


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: those of 2.1.0rc1 are 2, 1 and 0."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match is not None else ()
