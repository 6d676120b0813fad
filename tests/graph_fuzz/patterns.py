"""The patterns that passes look for, each written once, with the choices that make it a near-miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .building import Builder, Value

__all__ = ["PATTERNS", "Pattern", "pattern"]

Build = Callable[[Builder], list[Value]]


@dataclass(frozen=True)
class Pattern:
    """A pattern.

    Attributes:
        name: What it is called.
        build: Adds it to a graph and returns what it computes.
        passes: Those that look for it.
        opset: The least operator set that it can be written in.
    """

    name: str
    build: Build
    passes: tuple[str, ...]
    opset: int


PATTERNS: dict[str, Pattern] = {}
"""Every pattern by its name, once the modules ``patterns_*`` are imported."""


def pattern(*passes: str, opset: int) -> Callable[[Build], Build]:
    """Register a pattern under the name of the function that builds it."""

    def register(build: Build) -> Build:
        name = build.__name__.replace("_", " ")
        PATTERNS[name] = Pattern(name, build, passes, opset)
        return build

    return register
