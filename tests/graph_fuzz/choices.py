"""What is random in a graph: the choices that leave a pattern one, and those that make it a near-miss."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Deviation = tuple[str, int]
"""The name of a choice, and which of its wrong answers is taken."""


class Choices:
    """Takes the choices of one graph, and keeps which ones could have been taken wrongly.

    Args:
        chance: Takes those that any answer suits.
        deviation: The one choice that is taken wrongly; ``None`` for the pattern as a pass looks for it.
    """

    def __init__(self, chance: random.Random, deviation: Deviation | None = None) -> None:
        self.chance = chance
        self.deviation = deviation
        self.offered: dict[str, int] = {}

    def exact(self, name: str, right: Any, *wrong: Any) -> Any:
        """Return ``right``, or the wrong answer that the deviation asks for."""
        self.offered[name] = len(wrong)
        return wrong[self.deviation[1]] if self.deviation is not None and self.deviation[0] == name else right

    def any_of(self, *answers: Any) -> Any:
        """Return one of several answers that are all right."""
        return self.chance.choice(answers)

    def likely(self, share: float) -> bool:
        """Return true in this share of the cases."""
        return self.chance.random() < share

    def in_any_order(self, values: Sequence[Any]) -> list[Any]:
        """Return values in a random order."""
        return self.chance.sample(list(values), len(values))

    @property
    def deviations(self) -> list[Deviation]:
        """Every wrong choice that could have been taken."""
        return [(name, place) for name, count in self.offered.items() for place in range(count)]
