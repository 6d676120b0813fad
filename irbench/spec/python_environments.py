"""Another Python than the one irbench runs in, whose runtime is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PythonEnvironment:
    """Where the worker of a cell finds its runtime.

    Attributes:
        key: Unique in a run; part of the ids of its cells.
        label: What tables call it after the backend, its runtime's version for example: ``1.22.0``.
        python: Its interpreter; ``None`` for the one that irbench runs in.
        requirement: What irbench built it from; empty where the user brought it.
        runtime: The distribution of the runtime.
        python_version: Of its interpreter.
        distributions: Versions of the runtime and of what irbench's workers need, by name.
        indexes: Addresses of the package indexes that irbench built it from; empty where the user brought it.
    """

    key: str
    label: str
    python: str | None
    requirement: str = ""
    runtime: str = ""
    python_version: str = ""
    distributions: Mapping[str, str] = field(default_factory=dict[str, str])
    indexes: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The runtime's version; empty where it is not known."""
        return self.distributions.get(self.runtime, "")
