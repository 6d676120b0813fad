"""What is asked of a soak: how long each row is called, and which growth matters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SoakPlan:
    """How long each row is called, and how its memory is judged.

    Attributes:
        seconds: For how long each row is called; without meaning where ``calls`` is given.
        calls: How many calls of each row there are at least; ``None`` calls for ``seconds``.
        growth_limit: Bytes per call from which on growth matters.
        blocks: Into how many blocks the calls of a row are divided; at the end of each its memory is read.
    """

    seconds: float = 60.0
    calls: int | None = None
    growth_limit: float = 1000.0
    blocks: int = 120
