"""Conditions on changes are read in two forms, one of which no shell takes for a redirection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irbench.options.conditions import read_condition
from irbench.options.values import service_level


@pytest.mark.parametrize(
    ("without_quotes", "same_as"),
    [
        ("p50:5%", "p50>5%"),
        ("fps:3%", "fps<-3%"),
        ("tokens_per_s:3%", "tokens_per_s<-3%"),
        ("peak_memory:50MB", "peak_memory>50MB"),
        ("size:0%", "size>0%"),
    ],
)
def test_a_colon_names_how_much_worse_a_figure_may_get(without_quotes: str, same_as: str):
    read = read_condition(without_quotes)
    assert read.text == without_quotes, "it is quoted as it was written"
    assert replace(read, text=same_as) == read_condition(same_as)


def test_a_colon_and_a_sign_are_refused():
    with pytest.raises(ValueError, match=r"write how much worse fps may get: fps:3%"):
        read_condition("fps:-3%")


def test_a_figure_alone_names_the_shell_that_took_the_rest():
    with pytest.raises(ValueError, match="a shell takes an unquoted > or < for the name of a file"):
        read_condition("p50")


def test_other_text_is_refused_without_blaming_a_shell():
    with pytest.raises(ValueError, match=r"'fast' is not a condition on a change$"):
        read_condition("fast")


def test_a_service_level_needs_no_quotes_with_a_colon():
    assert service_level("p99:50ms") == service_level("p99<=50ms")
