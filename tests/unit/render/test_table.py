"""Every row that goes in comes out, at every width, whatever its words are."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from documents import cell, document, example, failed, group
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from whole_words import require_whole_words

from irbench.core.plain_text import plain
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.row import Requested
from irbench.notices.notes import NativePrecision
from irbench.render.line_wrapping import wrap
from irbench.render.speed_table import GroupView, WhichColumns
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.runs.document_text import render_document

HOSTILE = "[red]x[/red] [bold] pip install 'irbench-onnx[openvino]' \x1b[2Jgone\r\nnext | pipe"


def shown(result: Any, width: int = 200, columns: WhichColumns = "usual") -> str:
    return "\n".join(line.plain for line in GroupView(result, columns=columns).as_lines(width))


def hostile() -> RunDocument:
    bad = failed("ort", failure=Failure("load", HOSTILE, HOSTILE))
    note = NativePrecision(backend=HOSTILE, precision=HOSTILE, measured=("fp32",))
    return document(group(cell("tf"), bad, model=HOSTILE, notes=(note,)))


def test_words_of_others_are_neither_markup_nor_orders_to_the_terminal():
    console = Console(width=200, force_terminal=True, color_system=None, file=io.StringIO())
    console.print(GroupView(hostile().groups[0]))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "irbench-onnx[openvino]" in text
    assert "[red]x[/red]" in text
    assert "\x1b[2J" not in text
    assert "\r" not in text


def test_a_name_cannot_break_a_markdown_table():
    rows = [line for line in render_document(hostile(), "md").splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert len(rows) == 4


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_every_row_comes_out_at_every_width(width: int):
    for cell_ in example().cells:
        assert any(line.split()[:1] == [cell_.label] for line in shown(example(), width).splitlines())


def test_columns_that_have_no_room_are_named():
    assert "hidden, the terminal is too narrow: max err, ready s, GB" in shown(example(), 80, "all")
    assert "hidden, the terminal" not in shown(example(), 100, "all")
    assert "hidden, the terminal" not in shown(example(), 80)


@given(st.text(st.characters(codec="utf-8"), max_size=300), st.integers(20, 140))
def test_a_reason_loses_no_word_and_no_line_is_too_wide(words: str, width: int):
    table = TextTable((TableColumn("a", words=True), TableColumn("b", words=True)), (Row(("x",), "begin " + words),))
    lines = [line.plain for line in table.as_lines(width)]
    assert "".join(" ".join(lines[1:]).split()) == "x" + "begin" + "".join(plain(words).split())
    assert max(map(cell_len, lines)) <= max(width, len("x") + 2 + 30)


@given(st.text(max_size=200), st.integers(2, 60))
@such_as("00 \u0300", 2)
def test_folding_keeps_every_character_but_blanks(text: str, width: int):
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(plain(text).split())
    assert all(cell_len(line) <= width for line in lines)


def test_columns_fold_before_anything_is_cut():
    table = TextTable(
        (TableColumn("name"), TableColumn("what", words=True, folds=True)), (Row(("a", "one two three four five")),)
    )
    assert [line.plain for line in table.as_lines(18)] == [
        "name  what",
        "   a  one two",
        "      three four",
        "      five",
    ]


@given(
    st.lists(st.text("abcdefg ", min_size=1, max_size=60), min_size=1, max_size=4), st.sampled_from([60, 80, 120, 200])
)
def test_a_column_that_folds_keeps_usual_words_whole(cells: list[str], width: int):
    table = TextTable(
        (
            TableColumn("name", words=True),
            *(TableColumn("what", words=True, folds=True, drops=number) for number in range(4)),
        ),
        (Row(("a", *(cells + cells[:1] * 3)[:4])),),
    )
    lines = [line.plain for line in table.as_lines(width)]
    usual = {word for line in lines[1:] for word in line.split() if len(word) < 30}
    whole = {word for cell_ in cells for word in cell_.split()}
    assert all(word in whole or any(word in longer for longer in whole if len(longer) > 30) for word in usual - {"a"})


@given(
    st.lists(
        st.lists(st.text("abcdefg", min_size=1, max_size=10), min_size=1, max_size=8).map(" ".join),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([60, 80, 100]),
)
def test_a_table_of_words_fits_and_cuts_none_although_no_column_was_said_to_fold(cells: list[str], width: int):
    columns = tuple(TableColumn(f"some heading {number}", words=True) for number in range(len(cells)))
    table = TextTable(columns, (Row(tuple(cells)), Row(tuple(reversed(cells)))))
    require_whole_words(table, width)
    written = " ".join([*(column.heading for column in columns), *cells, *cells]).split()
    assert sorted(" ".join(line.plain for line in table.as_lines(width)).split()) == sorted(written)


def test_headings_and_cells_fold_before_a_line_is_too_wide_and_intervals_stay_whole():
    table = TextTable(
        (
            TableColumn("setting", words=True),
            TableColumn("setting / rival [95 %]", words=True),
            TableColumn("outcome", words=True),
        ),
        (Row(("openvino x2", "1.15x [1.10, 1.20]", "openvino stays ahead")),),
    )
    assert [line.plain for line in table.as_lines(40)] == [
        "setting      setting /     outcome",
        "             rival [95 %]",
        "openvino x2  1.15x         openvino",
        "             [1.10, 1.20]  stays ahead",
    ]


def test_figures_fold_between_a_value_and_its_interval_only():
    table = TextTable((TableColumn("row", words=True), TableColumn("p50 ms")), (Row(("ort", "44.6 ms [44.0, 45.2]")),))
    assert [line.plain for line in table.as_lines(20)] == [
        "row           p50 ms",
        "ort          44.6 ms",
        "        [44.0, 45.2]",
    ]


def test_a_line_that_is_wider_than_the_terminal_all_the_same_is_admitted():
    console = Console(width=30, file=io.StringIO(), color_system=None)
    figures = tuple(TableColumn(f"figure {number}") for number in range(5))
    with console.capture() as capture:
        console.print(ListingTable(TextTable(figures, (Row(("123456789",) * 5),)), "see --format csv"))
    said = "lines are wider than the terminal, which has 30 columns; see --format csv"
    assert said in " ".join(capture.get().split())


def test_beginnings_are_shown_where_the_whole_has_no_room():
    table = TextTable(
        (TableColumn("run", words=True, shortens_to=4), TableColumn("what", words=True, drops=1)),
        (Row(("01KAJ3WQ4R", "a short text")), Row(("02KAJ3WQ4R", "b"))),
    )
    assert [line.plain for line in table.as_lines(30)][1].split()[0] == "01KAJ3WQ4R"
    assert [line.plain for line in table.as_lines(20)] == ["run   what", "01KA  a short text", "02KA  b"]
    assert table.left_out(20) == ()
    assert "01KAJ3WQ4R" in table.as_csv()


def test_the_table_is_as_wide_as_it_needs_to_be_where_nothing_limits_it():
    console = Console(width=1000)
    table = TextTable((TableColumn("x" * 95),), ())
    assert console.measure(table).maximum == max(len(line.plain) for line in table.as_lines(1000))
    view = GroupView(group(cell("x" * 95), cell("ort")))
    width = console.measure(view).maximum
    assert width == max(len(line.plain) for line in view.as_lines(width))
    assert not any("terminal is too narrow" in line.plain for line in view.as_lines(width))
    assert any("terminal is too narrow" in line.plain for line in view.as_lines(width - 1))


def test_rows_of_one_backend_are_told_apart_where_the_precisions_they_read_back_do_not():
    native = replace(cell("ort"), id="native", requested=Requested(2, 1, "native"))
    lines = shown(group(native, cell("ort"))).splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["ort", "native"], ["ort", "fp32"]]
    other = shown(group(cell("ort", precision="bf16"), cell("ort"))).splitlines()
    assert [line.split()[:2] for line in other[2:4]] == [["ort", "bf16"], ["ort", "fp32"]]
    assert "ort bf16  bf16" not in other[2]


def test_rows_of_several_models_batches_and_thread_counts_have_columns_for_what_differs() -> None:
    rows = (cell("ort", model="fp32"), cell("ort", model="int8", id="b", batch=8, threads=4))
    text = shown(group(*rows, model="fp32"))
    head = next(line for line in text.splitlines() if "p50 ms" in line)
    assert head.split()[:4] == ["backend", "model", "batch", "threads"]
    assert "fp32, int8  " in text
    assert "batches 1, 8" in text
    assert "compared by FPS" in text


def test_a_table_of_one_model_and_batch_has_no_columns_for_them() -> None:
    head = next(line for line in shown(group(cell("ort"), cell("tf"))).splitlines() if "p50 ms" in line)
    assert head.split()[:2] == ["backend", "p50"]
