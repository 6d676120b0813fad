"""Reading ``--compare``: two levels of optimisation."""

from __future__ import annotations

__all__ = ["compared_levels"]

_GRAPH, _LEVEL_OF_GRAPH = "graph", "none"


def compared_levels(text: str) -> tuple[str, str]:
    """Return the two levels of ``graph+extended``; ``graph`` is the exported graph, the level ``none``.

    Raises:
        ValueError: These are not two levels.
    """
    first, plus, second = (part.strip() for part in text.partition("+"))
    if not (plus and first and second):
        raise ValueError(f"{text!r} does not name two levels")
    before, after = (_LEVEL_OF_GRAPH if name == _GRAPH else name for name in (first, second))
    if before == after:
        raise ValueError(f"{text!r} names one level twice")
    return before, after
