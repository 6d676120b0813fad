"""Levels are lists of passes that exist, and names that are none are refused."""

import pytest

from irbench import registry
from irbench.errors import IrbenchError
from irbench.optimize import LEVELS, Recipe, recipe


@pytest.mark.parametrize("level", LEVELS)
def test_every_pass_of_a_level_is_registered_under_its_own_name(level):
    for name in recipe(level).passes:
        assert registry.graph_pass(name).name == name


@pytest.mark.parametrize("level", ["none", "basic", "extended"])
def test_only_the_last_level_writes_operators_of_a_vendor(level):
    assert not any(registry.graph_pass(name).vendor for name in LEVELS[level])


def test_passes_that_are_named_take_the_place_of_a_level():
    assert recipe("basic", ["fake-idle"]) == Recipe("custom", ("fake-idle",))


def test_an_unknown_level_and_an_unknown_pass_are_refused():
    with pytest.raises(IrbenchError, match="no level 'basics'"):
        recipe("basics")
    with pytest.raises(IrbenchError, match="no pass 'fake-idol'"):
        recipe("basic", ["fake-idol"])
