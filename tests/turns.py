"""Tests by turns: each run of continuous integration takes a share of those that take too long for every run.

``pytest --turn N`` leaves out the marked tests of other turns. As many turns in succession as a mark has shares take
each of its tests once; ``make test-turn`` counts turns by commits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

import pytest

SHARES = {"zoo": 24, "long": 4, "slow": 8, "ci": 3}
"""Among how many turns the tests of a mark are divided; the first mark that a test has counts."""

BY_FILE = "ci"
"""The mark of tests that are divided by files, because those of a file share what takes most of their time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--turn``."""
    shares = ", ".join(f"one in {count} of those marked {mark}" for mark, count in SHARES.items())
    parser.addoption("--turn", type=int, metavar="N", help=f"of the marked tests only those of this turn: {shares}")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which tests a turn takes."""
    turn = config.getoption("turn")
    if turn is None:
        return None
    parts = [f"part {turn % count + 1} of {count} of the tests marked {mark}" for mark, count in SHARES.items()]
    return f"turn {turn}: {', '.join(parts)}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the marked tests of other turns, and begin with those that take longest."""
    turn = config.getoption("turn")
    if turn is None:
        return
    others = set(_of_other_turns(items, turn))
    config.hook.pytest_deselected(items=list(others))
    own = (item for item in items if item not in others)
    items[:] = sorted(own, key=lambda item: item.get_closest_marker("long") is None)


def _of_other_turns(items: list[pytest.Item], turn: int) -> list[pytest.Item]:
    """Deal tests out as they are collected, those of a file with the same parameters, such as a model, together."""
    places: dict[str, dict[Hashable, int]] = defaultdict(dict)
    others = []
    for item in items:
        mark = next((mark for mark in SHARES if item.get_closest_marker(mark)), None)
        if mark is None:
            continue
        parameters = getattr(item, "callspec", None)
        by_name = (item.path, parameters.id) if parameters is not None else item.nodeid
        together = item.path if mark == BY_FILE else by_name
        place = places[mark].setdefault(together, len(places[mark]))
        if place % SHARES[mark] != turn % SHARES[mark]:
            others.append(item)
    return others
