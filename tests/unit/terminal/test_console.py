"""Data goes to stdout or a file, as wide as it needs to be, and with colour only where it is wanted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from documents import document, example

from irbench.errors import IrbenchError
from irbench.render.speed_table import GroupView
from irbench.render.table import Row, TableColumn, TextTable
from irbench.terminal.console import check_writable, print_data, resumed_command_line, to_text
from irbench.terminal.run_output import write_document

WIDE = TextTable(tuple(TableColumn(f"column {number}" * 3) for number in range(12)), (Row(("x",) * 12),))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def test_outside_a_terminal_no_column_is_cut():
    lines = to_text(WIDE).splitlines()
    assert len(lines) == 2
    assert lines[0].count("column") == 36
    assert "\x1b" not in to_text(GroupView(example()))


def test_columns_decides_the_width_where_it_is_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = to_text(GroupView(example(), columns="all"))
    assert max(map(len, text.splitlines())) <= 80
    assert "hidden, the terminal is too narrow" in text


def test_colour_is_forced_and_refused_by_the_usual_variables(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    forced = to_text(GroupView(example()))
    assert "\x1b[32m" in forced
    assert "left out" not in forced
    assert "\x1b" not in to_text(GroupView(example()), to_file=True)
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in to_text(GroupView(example()))


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "md"])
def test_a_file_holds_what_stdout_would(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = document(example(), example())
    write_document(run, tmp_path, form, None)
    write_document(run, tmp_path, form, tmp_path / "out")
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "out").read_text(encoding="utf-8")
    assert printed.endswith("\n")
    assert not printed.endswith("\n\n")


def test_a_run_without_tables_says_so(capsys: pytest.CaptureFixture[str]):
    from dataclasses import replace

    write_document(replace(document(), groups=()), Path("a"), "table", None)
    assert capsys.readouterr().out == "The run holds no table.\n"


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path):
    with pytest.raises(IrbenchError, match="is not a folder") as caught:
        check_writable(tmp_path / "missing" / "out.json")
    assert f"mkdir -p {tmp_path / 'missing'}" in caught.value.hint
    with pytest.raises(IrbenchError, match="is a folder"):
        check_writable(tmp_path)
    check_writable(tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(IrbenchError, match="do not have permission"):
        check_writable(tmp_path / "out.json")


def test_a_disk_that_is_full_at_the_end_is_one_clear_error():
    full = Path("/dev/full")
    if not full.exists() or not os.access(full, os.W_OK):
        pytest.skip("no /dev/full here")
    with pytest.raises(IrbenchError, match="No space left on device"):
        print_data("x" * 10, full)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("sweep", "my plan.toml", "--name", "x"), "irbench sweep 'my plan.toml' --name x --resume"),
        (("fleet", "run", "p.toml", "--resume", "--targets", "t"), "irbench fleet run p.toml --resume --targets t"),
    ],
)
def test_a_call_that_is_to_go_on_is_repeated_with_all_of_its_words(
    words: tuple[str, ...], shown: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.argv", ["/usr/bin/irbench", *words])
    assert resumed_command_line() == shown
