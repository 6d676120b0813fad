"""JSON is exact, and prints nothing but characters that print."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from irbench.render.text_formats import json_line, json_text


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))
    )
)
def test_json_is_exact_and_harmless(value: dict[str, str]):
    for text in (json_text(value), json_line(value)):
        assert json.loads(text) == value
        assert text.replace("\n", "").isprintable()


def test_what_terminals_obey_is_escaped_and_what_they_show_is_not():
    assert json_line(["\x9b31m", "\u202e", "\x7f", "ü", "\U000e0001"]) == (
        '["\\u009b31m","\\u202e","\\u007f","ü","\\udb40\\udc01"]'
    )


def test_a_line_is_a_line():
    assert "\n" not in json_line({"a": "b\nc"})


def test_a_path_that_is_not_utf8_is_exact_too_and_numbers_stay_what_msgspec_makes_of_them():
    value = {"path": "a\udcff", "numbers": [math.nan, math.inf, 0.1], "rows": (1,)}
    for text in (json_text(value), json_line(value)):
        assert json.loads(text) == {"path": "a\udcff", "numbers": [None, None, 0.1], "rows": [1]}
        assert text.isascii()
