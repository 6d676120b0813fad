"""Levels are lists of passes that exist, and names that are none are refused."""

from typing import Any

import pytest

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.optimizer import LEVELS, Conversion, Recipe, build_recipe, command_options, variant


@pytest.mark.parametrize("level", LEVELS)
def test_every_pass_of_a_level_is_registered_under_its_own_name(level):
    for name in build_recipe(level).passes:
        assert registry.graph_pass(name).name == name


@pytest.mark.parametrize("level", ["none", "basic", "extended"])
def test_only_the_last_level_writes_operators_of_a_vendor(level):
    assert not any(registry.graph_pass(name).vendor for name in LEVELS[level])


def test_passes_that_are_named_take_the_place_of_a_level():
    assert build_recipe("basic", ["fake-idle"]) == Recipe("custom", ("fake-idle",))


def test_an_unknown_level_and_an_unknown_pass_are_refused():
    with pytest.raises(IrbenchError, match="no level 'basics'"):
        build_recipe("basics")
    with pytest.raises(IrbenchError, match="no pass 'fake-idol'"):
        build_recipe("basic", ["fake-idol"])


@pytest.mark.parametrize(
    ("conversion", "layout", "said"),
    [
        (("int8", "x"), "keep", "no method of quantizing 'x'"),
        (("fp8",), "keep", "no precision to convert to 'fp8'"),
        (("int8", "static", 0), "keep", "calibrated on 0 inputs"),
        (("int8",), "nhwc", "no layout 'nhwc'"),
    ],
)
def test_what_no_step_knows_is_refused_because_results_are_kept(conversion: Any, layout: Any, said: str):
    with pytest.raises(IrbenchError, match=said) as caught:
        build_recipe("basic", None, Conversion(*conversion), layout)
    assert caught.value.hint


@pytest.mark.parametrize("precision", ["fp16", "bf16", "int8"])
def test_a_conversion_follows_a_level_and_is_named_after_both(precision):
    asked = variant(f"extended-{precision}")
    assert asked == build_recipe("extended", None, Conversion(precision))
    assert (asked.name, asked.passes) == (f"extended-{precision}", LEVELS["extended"])


def test_a_precision_alone_is_short_for_that_of_the_basic_level():
    assert variant("int8") == variant("basic-int8")


@pytest.mark.parametrize("method", ["static", "dynamic"])
def test_the_method_of_int8_is_named_behind_it_where_it_was_chosen(method):
    asked = variant(f"basic-int8-{method}")
    assert asked == build_recipe("basic", None, Conversion("int8", method))
    assert asked.name == f"basic-int8-{method}"
    assert variant(f"int8-{method}") == asked
    assert asked.name != variant("basic-int8").name


def test_a_level_alone_converts_nothing():
    assert variant("basic") == build_recipe("basic")
    assert variant("basic").conversion is None


@pytest.mark.parametrize("name", ["basic-int4", "-int8x", "none-", "basics-int8", "fp16-static", "static"])
def test_a_name_that_is_no_variant_is_refused_with_what_there_is(name):
    with pytest.raises(IrbenchError, match="There is no level") as caught:
        variant(name)
    assert "basic-int8" in caught.value.hint


@pytest.mark.parametrize("name", ["basic-nchw", "extended-nchw-int8", "none-nchw-int8-static"])
def test_a_layout_stands_between_the_level_and_the_precision(name):
    asked = variant(name)
    assert (asked.name, asked.layout) == (name, "nchw")


def test_a_layout_alone_is_short_for_that_of_the_basic_level():
    assert variant("nchw") == build_recipe("basic", layout="nchw")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("extended", "--level extended"),
        ("int8", "--level basic --precision int8"),
        ("basic-nchw-int8-static", "--level basic --layout nchw --precision int8 --quantize static"),
    ],
)
def test_a_variant_has_the_options_that_make_it(name: str, options: str):
    assert command_options(name) == options
