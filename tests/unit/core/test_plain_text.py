"""Text from other sources cannot steer a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from irbench.core.plain_text import plain, plain_lines


def test_text_that_prints_stays_as_it_is():
    assert plain("ResNet-50 löst das: 1 + 1  =  2 → 漢字") == "ResNet-50 löst das: 1 + 1  =  2 → 漢字"


def test_escape_sequences_and_marks_of_direction_are_shown_as_what_they_are_not():
    assert plain("a\x1b[31mb\x9bc\u202ed\udcff") == "a�[31mb�c�d�"


def test_white_space_becomes_blanks():
    assert plain("a\tb\r\nc\u2028d\u00a0e") == "a b  c d e"


def test_only_line_feeds_end_lines():
    assert plain_lines("a\x1b\nb\rc\u2028d\x0be") == "a�\nb c d e"


@given(st.text())
def test_nothing_that_does_not_print_is_left(text: str):
    assert plain(text).isprintable()
    assert plain_lines(text).replace("\n", "").isprintable()
    assert plain_lines(text).count("\n") == text.count("\n")
