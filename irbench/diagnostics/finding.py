"""One thing that disturbs measurement."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """One thing that disturbs measurement.

    Attributes:
        code: Its name for programs.
        found: What was seen, with its figure.
        effect: What that does to the numbers.
        remedy: What mends it, or what to do where nothing can.
        command: The command that does it; ``None`` where there is none to give.
        lasting: Whether it is how the machine is, which nothing done there mends, rather than what was seen to disturb.
    """

    code: str
    found: str
    effect: str
    remedy: str
    command: str | None = None
    lasting: bool = False
