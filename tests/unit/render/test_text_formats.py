"""No text in comma-separated values is a formula, and numbers stay numbers."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.text_formats import (
    bullets,
    code_block,
    csv_cell,
    heading,
    json_line,
    json_text,
    markdown_cell,
    markdown_text,
)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd()", "@SUM(A1)", "\t=1", "\r=1", "  =1", "-x", "\n@a"]
)
def test_a_formula_becomes_text(text: str):
    assert csv_cell(text).startswith("'")


@pytest.mark.parametrize(
    "value", [-1.5, -3, None, True, "-", "-3.2", "+4.1 %", "-1.5e-3", "1.31", "ort", "", "a=b", "±0.4 %"]
)
def test_everything_else_stays_as_it_is(value: object):
    assert csv_cell(value) == value


def test_a_cell_is_one_line_without_escape_sequences():
    assert csv_cell("a\x1b[1m\nb") == "a�[1m b"


def test_tables_have_no_formulas_either():
    table = TextTable((TableColumn("name", words=True), TableColumn("change")), (Row(("=cmd()", "-3.2 %")),))
    assert table.as_csv() == "name,change\n'=cmd(),-3.2 %\n"


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


READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ACTIVE = "#<>[]()!*_`~|\\&;:/@w+-=.1 a\n"


def shown(markdown: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each block, as a reader shows it."""
    tokens = READER.parse(markdown)
    return [
        (before.type, "".join(_text(child) for child in token.children or ()))
        for before, token in pairwise(tokens)
        if token.type == "inline"
    ]


def _text(token: Any) -> str:
    assert token.type in {"text", "softbreak", "hardbreak"}, token
    return str(token.content).replace("\u200b", "")


@pytest.mark.parametrize(
    "text",
    ["[click](http://x)", "![i](http://x)", "<script>", "&lt;b&gt;", "*a* _b_ `c` ~d~ ~~e~~", "a | b", "# a", "1. a",
     "- a", "+ a", "--- ", "===", "> a", "[x]: http://x", "a\\", "2) b", "```", "    "],
)  # fmt: skip
def test_a_text_is_a_paragraph_of_itself(text: str):
    expected = text.strip()
    assert shown(markdown_text(text)) == ([("paragraph_open", expected)] if expected else [])


@given(st.text(ACTIVE, min_size=1))
@example("1.\n")
def test_whatever_is_written_a_paragraph_says_it(text: str):
    flat = text.replace("\n", " ").strip()
    assert shown(markdown_text(text)) == ([("paragraph_open", flat)] if flat else [])


@given(st.text(ACTIVE))
def test_whatever_a_cell_holds_a_table_has_its_columns(text: str):
    table = TextTable((TableColumn("a", words=True), TableColumn("b")), (Row((text, "2")),))
    cells = [said for kind, said in shown(table.as_markdown()) if kind == "td_open"]
    assert cells == [text.replace("\n", " ").strip(), "2"]


@pytest.mark.parametrize(
    "text",
    ["https://evil.example/x", "see www.evil.example", "WWW.evil.example", "@name", "(@name)", "a@b.example", "#12",
     "owner/net#12", "GH-12", "\\@name", "&#12;"],
)  # fmt: skip
def test_a_text_is_nothing_that_github_would_link(text: str):
    written = markdown_text(text)
    assert shown(written) == [("paragraph_open", text)]
    assert not re.search(r"://|(?i:www)\.", written)
    (_, inline, _) = READER.parse(written)
    visible = "".join(child.content for child in inline.children or ())
    assert not re.search(r"(?<!\w)@\w|@[\w-]+\.|#\d|GH-\d", visible)


def test_settings_of_a_backend_need_no_escapes():
    assert markdown_cell("ort@streams=4, 1.5 img/s") == "ort@streams=4, 1.5 img/s"


def test_intervals_and_names_with_underscores_need_no_escapes():
    assert markdown_cell("p50_ms [1.12, 1.16] (adjusted)") == "p50_ms [1.12, 1.16] (adjusted)"


def test_lists_and_headings_hold_text():
    assert shown(bullets(["# a", "- b"])) == [("paragraph_open", "# a"), ("paragraph_open", "- b")]
    assert shown(heading("a\n# b", 2)) == [("heading_open", "a # b")]


def test_code_ends_where_its_fence_does():
    code = "a ```\n```\nb ````"
    (fence,) = READER.parse(code_block(code, "sh"))
    assert (fence.type, fence.info, fence.content) == ("fence", "sh", code + "\n")
