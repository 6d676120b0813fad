"""The search keeps what is needed, leaves out the rest, and asks little."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.features.reduce.search import Nodes, smallest


def asking(needed: set[int]) -> tuple[list[Nodes], Callable[[Nodes], bool]]:
    """Return what was asked, and a judge that sees the difference wherever all needed nodes are."""
    asked: list[Nodes] = []

    def shows(nodes: Nodes) -> bool:
        asked.append(nodes)
        return needed <= set(nodes)

    return asked, shows


@pytest.mark.parametrize("needed", [{0}, {77}, {121}, {60, 61}, {10, 100}, {0, 60, 121}])
def test_the_nodes_that_are_needed_are_left(needed: set[int]):
    asked, shows = asking(needed)
    assert set(smallest(tuple(range(122)), {}, shows)) == needed
    assert len(asked) == len(set(asked)), "nothing is tried twice"


def test_one_slow_node_is_found_in_about_as_many_questions_as_halving_takes():
    asked, shows = asking({77})
    smallest(tuple(range(122)), {}, shows)
    assert len(asked) <= 14


def test_a_graph_of_one_node_is_the_smallest():
    asked, shows = asking({0})
    assert smallest((0,), {}, shows) == (0,)
    assert asked == []


def test_of_parts_that_all_show_it_that_with_the_smallest_weights_is_left():
    sizes = {0: 100, 1: 100, 2: 1, 3: 100}
    assert smallest((0, 1, 2, 3), sizes, lambda _: True) == (2,)


def test_parts_stay_in_the_order_of_the_graph():
    _, shows = asking({3, 90, 40})
    assert smallest(tuple(range(100)), {}, shows) == (3, 40, 90)


def test_what_the_judge_raises_ends_the_search():
    def shows(_: Nodes) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        smallest((0, 1), {}, shows)


@given(st.integers(1, 40), st.data())
def test_no_node_of_the_result_can_be_left_out(count: int, data: st.DataObject):
    alternatives = data.draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), min_size=1, max_size=3))

    def shows(nodes: Nodes) -> bool:
        return any(needed <= set(nodes) for needed in alternatives)

    every = tuple(range(count))
    if not shows(every):
        return
    left = smallest(every, {}, shows)
    assert shows(left)
    assert not any(shows(tuple(node for node in left if node != gone)) for gone in left if len(left) > 1)
