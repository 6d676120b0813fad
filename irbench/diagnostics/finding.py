"""One thing that disturbs measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

FindingCode: TypeAlias = Literal[
    "affinity",
    "busy-machine",
    "cores-far",
    "cores-moved",
    "counters-missing",
    "cpu-pressure",
    "cpu-quota",
    "governor",
    "little-memory",
    "no-schedstat",
    "not-freezing",
    "recent-load",
    "shared-cores",
    "slow-clock",
    "smt",
    "stolen-time",
    "swap",
    "turbo",
    "virtual-machine",
]


@dataclass(frozen=True)
class Finding:
    """One thing that disturbs measurement; :mod:`irbench.render.finding_texts` has the words.

    Attributes:
        code: Its name for programs.
        facts: What was seen, as JSON values.
        lasting: Whether it is how the machine is, which nothing done there fixes, rather than what was seen to disturb.
    """

    code: FindingCode
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    lasting: bool = False
