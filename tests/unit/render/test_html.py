"""Results as notebooks show them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from documents import BUSY, ENVIRONMENT, cell, disturbed, example
from rich.console import Group
from rich.text import Text
from stored_plans import stored_plan

from irbench.render.html import html_of
from irbench.render.speed_table import GroupView, group_table, headline
from irbench.render.speed_table import context_of as context
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.views import CodeBlock, Document, PlainView

PLAN = stored_plan()


class Page(HTMLParser):
    """The texts of elements by tag, in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts += [(tag, data) for tag in self._open]

    def of(self, tag: str) -> list[str]:
        return [text for open_tag, text in self.texts if open_tag == tag]


def test_a_table_has_the_columns_and_rows_of_the_terminal():
    table = group_table(example())
    page = Page(html_of(GroupView(example(), ENVIRONMENT, PLAN)))
    assert page.of("th") == [column.heading for column in table.columns]
    assert page.of("td") == [text for row in table.rows for text in (*row.cells, row.sentence) if text]


def test_the_verdict_stands_above_the_table_and_warnings_below_it():
    result = disturbed(cell("ort"))
    text = html_of(GroupView(example(), ENVIRONMENT, PLAN))
    assert text.index(headline(example(), context(example(), ENVIRONMENT, PLAN)).split(":")[0]) < text.index("<table")
    warned = html_of(GroupView(result, ENVIRONMENT, PLAN))
    assert warned.index("<table") < warned.index(f"[{BUSY.code}]")


def test_a_short_warning_opens_to_the_whole_one():
    page = Page(html_of(GroupView(disturbed(cell("ort")), ENVIRONMENT, PLAN)))
    (brief,) = page.of("summary")
    assert "Close other programs" not in brief
    assert any("Close other programs" in text for text in page.of("details"))


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", '"><img src=x onerror=1>', "a\u202eb", "\x1b[31m"])
def test_names_make_no_element_and_steer_nothing(hostile: str):
    table = TextTable((TableColumn(hostile, words=True), TableColumn("n")), (Row((hostile,), sentence=hostile),))
    views = (
        PlainView(hostile, hostile, table, (hostile,), (hostile,)),
        Document((hostile, table, CodeBlock(hostile, "sh"))),
        Group(Text(hostile), hostile, table),
    )
    for view in views:
        text = html_of(view)
        assert text.count("<script>") == 1
        assert "<img" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text


def test_texts_keep_the_colour_of_the_notebook():
    text = html_of(GroupView(example(), ENVIRONMENT, PLAN))
    assert re.findall(r"[;\"{](?:background|background-color|color):", text) == []


def test_numbers_stand_to_the_right_and_words_to_the_left():
    table = TextTable((TableColumn("name", words=True), TableColumn("ms")), (Row(("a", "1.5")),))
    sides = re.findall(r"<t[hd][^>]*text-align:(\w+)", html_of(table))
    assert sides == ["left", "right", "left", "right"]


def test_a_view_without_a_table_has_no_script():
    assert "<script" not in html_of(PlainView("title", "none", TextTable((TableColumn("a"),), ()), ()))
