"""The patterns that passes look for, each written once, with the choices that make it a near-miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .building import Builder, Value

Build = Callable[[Builder], list[Value]]


_COMMON_OPSET = 23
"""The operator set that graphs of a pattern have where nothing else is asked for."""


@dataclass(frozen=True)
class Pattern:
    """A pattern.

    Attributes:
        name: What it is called.
        build: Adds it to a graph and returns what it computes.
        passes: Those that look for it.
        opset: The least operator set that it can be written in.
        last: The latest one.
    """

    name: str
    build: Build
    passes: tuple[str, ...]
    opset: int
    last: int

    @property
    def usual_opset(self) -> int:
        """The operator set that shows most of it."""
        return min(max(self.opset, _COMMON_OPSET), self.last)


PATTERNS: dict[str, Pattern] = {}
"""Every pattern by its name, once the modules ``patterns_*`` are imported."""


def pattern(*passes: str, opset: int, last: int = 1000) -> Callable[[Build], Build]:
    """Register a pattern under the name of the function that builds it."""

    def register(build: Build) -> Build:
        name = build.__name__.replace("_", " ")
        PATTERNS[name] = Pattern(name, build, passes, opset, last)
        return build

    return register
