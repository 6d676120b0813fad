"""What tables of training steps have beside those of inferences: what each setting changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irbench.core.row import WithEnds


@dataclass(frozen=True)
class Effect(WithEnds):
    """How much faster steps are with one value of a setting than with its first, over all other settings.

    Of two settings: how many times as much the one value gains where the other is set too, as where it is not.

    Attributes:
        settings: The value of each of one or two settings, by name: the one that is compared with the first.
        first: The first value of each.
        value: The ratio of speeds, above 1 is faster; null where the measured rows do not determine it.
        rounds: How often all rows were launched: of so many ratios it is the median.
        confidence: Of its interval alone; null without one.
        pairs_left_out: Whether it is taken for granted that settings do not change each other's effect.
    """

    settings: Mapping[str, str]
    first: Mapping[str, str]
    value: float | None
    rounds: int
    confidence: float | None = None
    pairs_left_out: bool = False
