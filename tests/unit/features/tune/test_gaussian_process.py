"""What a search believes of settings that it did not measure."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from irbench.features.tune.gaussian_process import Settings, fit

POINTS = tuple(product(("ort", "openvino"), (1.0, 2.0, 4.0, 8.0), (1.0, 2.0)))


SETTINGS = Settings(POINTS)


def cost(point: tuple[str, float, float]) -> float:
    """Return a cost that falls with the batch and the threads, more slowly for one backend."""
    backend, batch, threads = point
    return (0.2 if backend == "ort" else 0.0) - 0.1 * math.log2(batch) - 0.5 * math.log2(threads)


def measured(places: tuple[int, ...]) -> dict[int, list[float]]:
    return {place: [cost(POINTS[place])] for place in places}


def test_what_was_measured_is_believed():
    known = measured(tuple(range(0, len(POINTS), 2)))
    belief = fit(SETTINGS, known)
    for place, (value,) in known.items():
        assert belief.mean[place] == pytest.approx(value, abs=0.02)
        assert belief.deviation[place] < 0.05


def test_what_lies_between_is_believed_to_lie_between():
    places = tuple(place for place, point in enumerate(POINTS) if point[1] != 4.0)
    belief = fit(SETTINGS, measured(places))
    for place in set(range(len(POINTS))) - set(places):
        assert belief.mean[place] == pytest.approx(cost(POINTS[place]), abs=0.06)


def test_the_less_is_known_nearby_the_more_doubt_there_is():
    near = next(place for place, point in enumerate(POINTS) if point == ("ort", 2.0, 1.0))
    far = next(place for place, point in enumerate(POINTS) if point == ("openvino", 8.0, 2.0))
    first = next(place for place, point in enumerate(POINTS) if point == ("ort", 1.0, 1.0))
    belief = fit(SETTINGS, {first: [0.0], far: [1.0]})
    assert belief.deviation[near] > belief.deviation[first]
    assert fit(SETTINGS, {first: [0.0], near: [0.1]}).deviation[far] > belief.deviation[far]


def test_measuring_again_leaves_less_doubt_where_measurements_scatter():
    generator = np.random.default_rng(0)
    scattered = {place: [cost(POINTS[place]) + generator.normal(0, 0.05)] for place in range(0, len(POINTS), 2)}
    often = {**scattered, 0: [cost(POINTS[0]) + value for value in generator.normal(0, 0.05, 50)]}
    assert fit(SETTINGS, often).deviation[0] < fit(SETTINGS, scattered).deviation[0]


def test_values_are_drawn_around_what_is_believed_as_widely_as_it_is_doubted():
    belief = fit(SETTINGS, measured((0, 3, 9, 14)))
    places = range(len(POINTS))
    drawn = belief.draws(4000, places, np.random.default_rng(1))
    assert drawn.shape == (4000, len(POINTS))
    np.testing.assert_allclose(drawn.mean(axis=0), belief.mean, atol=0.1 * belief.deviation.max())
    np.testing.assert_allclose(drawn.std(axis=0), belief.deviation, atol=0.1 * belief.deviation.max())


def test_settings_that_are_alike_in_everything_are_believed_to_be_the_same():
    twins = Settings((("ort", 1.0), ("ort", 1.0), ("ort", 2.0)))
    belief = fit(twins, {0: [1.0], 2: [0.0]})
    assert belief.mean[1] == pytest.approx(belief.mean[0])
