"""What measured settings tell about the others: a Gaussian process.

A setting is a point whose axes are either quantities that double (threads, streams, batch: their distance is the
difference of their binary logarithms) or names (backend, precision: their distance is 0 or 1). The correlation of two
settings is exp(-sum over the axes of distance / range), with a range for each axis that is fitted by maximum
likelihood; the mean and the variance follow in closed form. Rasmussen and Williams, "Gaussian Processes for Machine
Learning" (2006), chapters 2 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_RANGES = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Ranges of correlation that are tried, in doublings; a name is one doubling from another."""
_USUAL_RANGE = 10.0
_NOISE_SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Variances of one measurement that are tried, as shares of the variance between settings."""
_USUAL_NOISE_SHARE = 1e-3
_ROUNDS = 2
_FEWEST_TO_FIT = 6
_LEAST_VARIANCE = 1e-6


Point: TypeAlias = tuple[float | str, ...]
"""One value for each axis: a number for a quantity, a text for a name; the same kind in every point."""
Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int_]


class Settings:
    """The settings of a search, and how far apart they are; at least one."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = tuple(points)
        axes = [_coded(axis) for axis in zip(*self.points, strict=True)]
        self._codes = np.array([codes for codes, _ in axes])
        self._is_name = np.array([is_name for _, is_name in axes])

    @property
    def axes(self) -> int:
        """How many axes a setting has."""
        return len(self._is_name)

    def distances(self, rows: Sequence[int] | Places, columns: Sequence[int] | Places) -> Floats:
        """Return the distances between some settings and others by axis, shape ``(axes, rows, columns)``."""
        apart = np.abs(self._codes[:, rows][:, :, None] - self._codes[:, columns][:, None, :])
        differs: Floats = np.where(self._is_name[:, None, None], apart > 0, apart)
        return differs


@dataclass(frozen=True)
class _SpaceFit:
    """Ranges by axis, the variance of one measurement relative to that of settings, and what follows from them."""

    ranges: tuple[float, ...]
    noise: float
    mean: float = 0.0
    variance: float = 1.0
    log_likelihood: float = -np.inf

    def correlation(self, distances: Floats) -> Floats:
        return np.exp(-np.tensordot(1 / np.array(self.ranges), distances, axes=1))


@dataclass(frozen=True)
class _Evidence:
    settings: Settings
    places: Places
    counts: Floats
    means: Floats

    @cached_property
    def distances(self) -> Floats:
        return self.settings.distances(self.places, self.places)

    def covariance(self, fit: _SpaceFit) -> Floats:
        """Return that of the averages, relative to the variance between settings."""
        return fit.correlation(self.distances) + np.diag(fit.noise / self.counts)


@dataclass(frozen=True)
class Belief:
    """The distribution of the value of every setting, given those that were measured.

    Attributes:
        mean: Expected value of each, shape ``(settings,)``.
        deviation: Standard deviation of its true value, in the same form.
    """

    mean: Floats
    deviation: Floats
    _evidence: _Evidence
    _fit: _SpaceFit

    def draws(self, count: int, places: Sequence[int], generator: np.random.Generator) -> Floats:
        """Return values that some settings may have together, shape ``(count, places)``."""
        settings, fit = self._evidence.settings, self._fit
        across = fit.correlation(settings.distances(places, self._evidence.places))
        solved = np.linalg.solve(self._evidence.covariance(fit), across.T)
        covariance = fit.variance * (fit.correlation(settings.distances(places, places)) - across @ solved)
        # a square root by eigenvalues: rounding leaves some a little below zero
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn: Floats = self.mean[np.array(places)] + generator.standard_normal((count, len(places))) @ root.T
        return drawn


def fit(settings: Settings, measured: Mapping[int, Sequence[float]]) -> Belief:
    """Return the distribution of the value of every setting.

    ``measured`` has values by the place of a setting, at least one; they scatter around its true value.
    """
    evidence = _Evidence(
        settings,
        places=np.array(list(measured)),
        counts=np.array([len(values) for values in measured.values()], dtype=float),
        means=np.array([float(np.mean(values)) for values in measured.values()]),
    )
    fit = _fitted(evidence)
    across = fit.correlation(settings.distances(range(len(settings.points)), evidence.places))
    solved = np.linalg.solve(evidence.covariance(fit), np.column_stack([evidence.means - fit.mean, across.T]))
    unexplained = 1 - np.einsum("ij,ji->i", across, solved[:, 1:])
    deviation = np.sqrt(fit.variance * np.maximum(unexplained, 0.0))
    return Belief(fit.mean + across @ solved[:, 0], deviation, evidence, fit)


def _fitted(evidence: _Evidence) -> _SpaceFit:
    """Return the most likely ranges and noise, one changed at a time."""
    best = _in_closed_form(_SpaceFit((_USUAL_RANGE,) * evidence.settings.axes, _USUAL_NOISE_SHARE), evidence)
    if len(evidence.places) < _FEWEST_TO_FIT:
        return best
    varied = [axis for axis in range(evidence.settings.axes) if evidence.distances[axis].any()]
    for _ in range(_ROUNDS):
        for axis in varied:
            changed = (replace(best, ranges=_replaced(best.ranges, axis, value)) for value in _RANGES)
            best = _likeliest(best, changed, evidence)
        best = _likeliest(best, (replace(best, noise=noise) for noise in _NOISE_SHARES), evidence)
    return best


def _likeliest(best: _SpaceFit, others: Iterable[_SpaceFit], evidence: _Evidence) -> _SpaceFit:
    tried = (_in_closed_form(other, evidence) for other in others)
    return max((best, *tried), key=lambda fit: fit.log_likelihood)


def _in_closed_form(fit: _SpaceFit, evidence: _Evidence) -> _SpaceFit:
    """Return the fit with its most likely mean and variance."""
    lower = np.linalg.cholesky(evidence.covariance(fit))
    count = len(evidence.means)
    ones, values = np.linalg.solve(lower, np.column_stack([np.ones(count), evidence.means])).T
    mean = float(ones @ values / (ones @ ones))
    residual = values - mean * ones
    variance = max(float(residual @ residual) / count, _LEAST_VARIANCE)
    log_likelihood = -0.5 * count * np.log(variance) - float(np.log(np.diag(lower)).sum())
    return replace(fit, mean=mean, variance=variance, log_likelihood=log_likelihood)


def _replaced(values: tuple[float, ...], place: int, value: float) -> tuple[float, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _coded(axis: Sequence[float | str]) -> tuple[Floats, bool]:
    """Return an axis as numbers, and whether they stand for names."""
    if all(isinstance(value, str) for value in axis):
        codes = {name: code for code, name in enumerate(dict.fromkeys(axis))}
        return np.array([float(codes[name]) for name in axis]), True
    return np.log2(np.array(axis, dtype=float)), False
