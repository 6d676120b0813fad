"""Types of the doctor's texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from irbench.notices import Facts


@dataclass(frozen=True)
class FindingWords:
    """A finding in words.

    Attributes:
        found: What was seen, with its figure.
        effect: What that does to the numbers.
        remedy: What fixes it, or what to do where nothing can.
        command: The command that does it; ``None`` where there is none to give.
    """

    found: str
    effect: str
    remedy: str
    command: str | None = None


FindingText: TypeAlias = Callable[[Facts], FindingWords]
"""Makes the words of facts."""
