"""Names in Markdown are shown as they are: never a link, an image, HTML, emphasis or another paragraph."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from irbench.render.table import Column, Row, TextTable
from irbench.render.text_formats import bullets, code_block, heading, markdown_cell, markdown_text

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
    table = TextTable((Column("a", words=True), Column("b")), (Row((text, "2")),))
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
