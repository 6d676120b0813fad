"""The values that a search tries, and its rows as points."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from irbench.features.tune.space import SearchSpace, Settings, fit, spread, usual_values
from irbench.spec import Cell, Load


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (1, (1,)),
        (2, (1, 2)),
        (3, (1, 3)),
        (4, (1, 2, 4)),
        (8, (1, 2, 4, 8)),
        (64, (1, 4, 16, 64)),
        (96, (1, 5, 21, 96)),
    ],
)
def test_numbers_are_spread_over_doublings_up_to_the_processors(most: int, expected: tuple[int, ...]):
    assert spread(most) == expected


def test_for_latency_only_threads_are_tried():
    found = usual_values("latency", 4)
    assert (found.batch, found.streams, found.instances, found.threads) == ((1,), (1,), (1,), (1, 2, 4))


@pytest.mark.parametrize("objective", ["fps", "cost"])
def test_for_throughput_batches_streams_and_processes_are_tried_too(objective: str):
    found = usual_values(objective, 2)  # type: ignore[arg-type]
    assert found.batch[0] == 1
    assert found.batch[-1] > 8
    assert (found.streams, found.instances, found.threads) == ((1, 2), (1, 2), (1, 2))


def test_threads_that_a_runtime_chooses_count_as_all_processors():
    cells = tuple(Cell(str(threads), None, "ort", "cpu", Load(threads=threads)) for threads in (None, 4, 1))
    space = SearchSpace(cells, processors=4)
    assert space.settings.points[0] == space.settings.points[1]
    assert space.settings.points[0] != space.settings.points[2]


def test_rows_that_differ_in_an_option_are_different_points():
    loads = Load(), Load(options={"a": "1", "b": "2"}, varied={"b": "2"})
    cells = tuple(Cell(str(number), None, "ort", "cpu", load) for number, load in enumerate(loads))
    first, second = SearchSpace(cells, 1).settings.points
    assert first != second


def test_a_search_begins_with_the_smallest_batch():
    cells = tuple(Cell(str(batch), None, "ort", "cpu", Load(batch=batch)) for batch in (8, 2, 4, 2))
    assert list(SearchSpace(cells, 1).smallest) == [1, 3]


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
