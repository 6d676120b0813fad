"""The values that a search tries, and its rows as points."""

from __future__ import annotations

import pytest

from irbench.features.tune.search_space import SearchSpace, spread, usual_values
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


def test_rows_that_share_one_of_two_options_are_nearer_than_rows_that_share_none():
    varied = ({"xla": "off", "cache": "off"}, {"xla": "on", "cache": "off"}, {"xla": "on", "cache": "on"})
    cells = tuple(Cell(str(number), None, "tf", "cpu", Load(varied=own)) for number, own in enumerate(varied))
    one, both = SearchSpace(cells, 1).settings.distances([0], [1, 2]).sum(axis=0)[0]
    assert one < both


def test_a_search_begins_with_the_smallest_batch():
    cells = tuple(Cell(str(batch), None, "ort", "cpu", Load(batch=batch)) for batch in (8, 2, 4, 2))
    assert list(SearchSpace(cells, 1).smallest) == [1, 3]
