"""Names in Markdown are shown as they are: never a link, an image, HTML, emphasis or another paragraph."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from irbench.render.markdown import bullets, code_block, heading, markdown_cell, markdown_text
from irbench.render.table import Column, Row, TextTable

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ACTIVE = "#<>[]()!*_`~|\\&;:+-=.1 a\n"


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
    return str(token.content)


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
    table = TextTable((Column("a", words=True), Column("b")), (Row((text, "2")),))
    cells = [said for kind, said in shown(table.as_markdown()) if kind == "td_open"]
    assert cells == [text.replace("\n", " ").strip(), "2"]


def test_intervals_and_names_with_underscores_need_no_escapes():
    assert markdown_cell("p50_ms [1.12, 1.16] (adjusted)") == "p50_ms [1.12, 1.16] (adjusted)"


def test_lists_and_headings_hold_text():
    assert shown(bullets(["# a", "- b"])) == [("paragraph_open", "# a"), ("paragraph_open", "- b")]
    assert shown(heading("a\n# b", 2)) == [("heading_open", "a # b")]


def test_code_ends_where_its_fence_does():
    code = "a ```\n```\nb ````"
    (fence,) = READER.parse(code_block(code, "sh"))
    assert (fence.type, fence.info, fence.content) == ("fence", "sh", code + "\n")
