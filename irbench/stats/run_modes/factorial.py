"""Factorial designs: what each setting changes, and what two of them change together.

A row has a value of each setting (a level of each factor). Its log speed is taken for a sum: a constant, a term for the
value of each setting, and a term for the values of each pair of settings. Least squares finds the terms in each round,
a round being one launch of every row. The effect of a setting is the difference that one value makes instead of the
first, averaged over all combinations of the others. In a complete design that is the plain difference of means, as in
Montgomery, "Design and Analysis of Experiments", chapters 5 and 6; three settings together are not looked at.

Where rows are missing, as in a half of a design or where some failed, an effect is given if the rows that are there
determine it: a linear function c of the terms is estimable if and only if it lies in the row space of the design X,
c pinv(X) X = c (Searle, "Linear Models", section 5.4). Where not even single settings can be told apart from pairs,
pairs are left out of the sum, which takes for granted that settings do not change each other's effect.

Rounds are independent, so the interval of an effect is that of the median over rounds: :mod:`irbench.stats.intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from irbench.core.training_row import Effect
from irbench.stats.intervals import Looks, interval_at

Levels = Mapping[str, str]
"""The value of each setting of a row."""
_TOLERANCE = 1e-8


def varied_settings(rows: Sequence[Levels]) -> dict[str, tuple[str, ...]]:
    """Return the values of each setting in which rows differ, in the order in which they come."""
    names = dict.fromkeys(name for row in rows for name in row)
    values = {name: tuple(dict.fromkeys(row[name] for row in rows if name in row)) for name in names}
    return {name: known for name, known in values.items() if len(known) > 1}


def half_of(settings: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return one half of all combinations: those whose values' places add up to an even number, the first among them.

    Of settings with two values each it is the half fraction 2^(k-1) whose defining relation has all settings: single
    settings are confounded with pairs where k is 3, and with three settings together where it is 4.
    """
    places = (range(len(values)) for values in settings.values())
    kept = (chosen for chosen in product(*places) if sum(chosen) % 2 == 0)
    return [
        {name: values[place] for (name, values), place in zip(settings.items(), chosen, strict=True)} for chosen in kept
    ]


def undetermined(rows: Sequence[Levels]) -> tuple[str, ...]:
    """Return the settings whose effect these rows do not determine, even where settings do not interact."""
    settings = varied_settings(rows)
    fit = _Fit(Design(settings, with_pairs=False), tuple(rows))
    return tuple(dict.fromkeys(name for chosen in _singles(settings) if fit.weights(chosen) is None for name in chosen))


@dataclass(frozen=True)
class Design:
    """Which terms the log speed of a row is the sum of.

    Attributes:
        settings: The values of each setting that varies.
        with_pairs: Whether pairs of settings have terms.
    """

    settings: Mapping[str, tuple[str, ...]]
    with_pairs: bool = True

    def terms(self, row: Levels) -> NDArray[np.float64]:
        """Return how often each term is in the log speed of a row, float64."""
        single = {name: self._dummies(name, row[name]) for name in self.settings}
        pairs = combinations(self.settings, 2) if self.with_pairs else ()
        parts = [np.ones(1), *single.values(), *(np.outer(single[a], single[b]).ravel() for a, b in pairs)]
        whole: NDArray[np.float64] = np.concatenate(parts)
        return whole

    def matrix(self, rows: Sequence[Levels]) -> NDArray[np.float64]:
        """Return the terms of several rows, float64 of shape (rows, terms)."""
        return np.array([self.terms(row) for row in rows])

    def contrast(self, chosen: Levels) -> NDArray[np.float64]:
        """Return the terms of an effect: of one setting's value, or of two.

        Averaged over all combinations of the other settings, with values instead of the first ones; of two, the
        difference that both make together, less those that each makes alone.
        """
        differences = np.array([self._difference(rest, chosen) for rest in self._others(chosen)])
        mean: NDArray[np.float64] = differences.mean(axis=0)
        return mean

    def _difference(self, rest: Levels, chosen: Levels) -> NDArray[np.float64]:
        total = np.zeros(self.terms({**rest, **chosen}).size)
        for changed in product((False, True), repeat=len(chosen)):
            row = {
                name: value if is_changed else self.settings[name][0]
                for (name, value), is_changed in zip(chosen.items(), changed, strict=True)
            }
            total += (-1) ** (len(chosen) - sum(changed)) * self.terms({**rest, **row})
        return total

    def _others(self, chosen: Levels) -> list[dict[str, str]]:
        names = [name for name in self.settings if name not in chosen]
        return [dict(zip(names, values, strict=True)) for values in product(*(self.settings[name] for name in names))]

    def _dummies(self, name: str, value: str) -> NDArray[np.float64]:
        return np.array([float(value == level) for level in self.settings[name][1:]])


@dataclass(frozen=True)
class _Fit:
    design: Design
    rows: tuple[Levels, ...]

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        return np.asarray(np.linalg.pinv(self.design.matrix(self.rows)), np.float64)

    def weights(self, chosen: Levels) -> NDArray[np.float64] | None:
        """Return what each row's log speed counts for in an effect; ``None`` where rows do not determine it."""
        contrast = self.design.contrast(chosen)
        weights: NDArray[np.float64] = contrast @ self._inverse
        is_determined = np.allclose(weights @ self.design.matrix(self.rows), contrast, atol=_TOLERANCE)
        return weights if is_determined else None


def effects_of(
    rows: Mapping[str, Levels], log_speeds: Mapping[str, Sequence[float]], confidence: float
) -> tuple[Effect, ...]:
    """Return what each setting changes, then each pair of settings.

    Args:
        rows: The value of each setting, by row; also of rows that were not measured, so that a first value stays first.
        log_speeds: Natural logarithms of speeds by row, one for each round, in which all rows were launched once; rows
            without any are left out, and rounds that a row has not had.
        confidence: Of each interval alone.
    """
    measured = {row: levels for row, levels in rows.items() if log_speeds.get(row)}
    asked, varied = varied_settings(tuple(rows.values())), varied_settings(tuple(measured.values()))
    settings = {name: tuple(sorted(values, key=asked[name].index)) for name, values in varied.items()}
    if not settings:
        return ()
    rounds = min(len(log_speeds[row]) for row in measured)
    values = np.array([log_speeds[row][:rounds] for row in measured])
    fit = _Fit(Design(settings), tuple(measured.values()))
    has_singles = all(fit.weights(chosen) is not None for chosen in _singles(settings))
    singles = fit if has_singles else _Fit(Design(settings, with_pairs=False), tuple(measured.values()))
    return (
        *(_effect(singles, chosen, values, confidence) for chosen in _singles(settings)),
        *(_effect(fit, chosen, values, confidence) for chosen in _pairs(settings) if has_singles),
    )


def _singles(settings: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, str]]:
    for name, values in settings.items():
        yield from ({name: value} for value in values[1:])


def _pairs(settings: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, str]]:
    for first, second in combinations(settings, 2):
        values = product(settings[first][1:], settings[second][1:])
        yield from ({first: own, second: other} for own, other in values)


def _effect(fit: _Fit, chosen: Levels, values: NDArray[np.float64], confidence: float) -> Effect:
    weights, rounds = fit.weights(chosen), values.shape[1]
    first = {name: fit.design.settings[name][0] for name in chosen}
    known = {"settings": dict(chosen), "first": first, "rounds": rounds, "pairs_left_out": not fit.design.with_pairs}
    if weights is None:
        return Effect(value=None, **known)
    interval = interval_at([float(weights @ values[:, place]) for place in range(rounds)], _looks(rounds), confidence)
    return Effect(value=math.exp(interval.value), confidence=interval.confidence, **known, **interval.ends(math.exp))


def _looks(rounds: int) -> Looks:
    """Return that the number of rounds did not follow from what they showed: all rows have as many as fit."""
    return Looks(max(2, rounds), max(2, rounds))
