"""Names in stored runs and profiles steer no terminal, browser, spreadsheet or reader of Markdown."""

from __future__ import annotations

import io
import json
from datetime import datetime
from pathlib import Path

import profiles
import pytest
from documents import RUN_ID
from exports import run_of, text
from hostile_text import (
    HOSTILE,
    harmless_in_html,
    harmless_in_markdown,
    harmless_in_spreadsheets,
    harmless_on_a_terminal,
    poisoned,
)
from rich.console import Console
from whole_runs import everything

from irbench.core.result import RunDocument
from irbench.features.profile.profile_result import Profile
from irbench.features.results.view import run_table
from irbench.render.formats.export_formats import FORMATS
from irbench.render.sanitized import Sanitized
from irbench.runs.document_text import render_document
from irbench.runs.results import Run
from irbench.runs.run_view import DocumentView
from irbench.store.run_document import decode_document, encode_document
from irbench.store.table_outcomes import entry_of
from irbench.terminal.console import to_text

CREATED = everything().created


@pytest.fixture(scope="module", params=["values", "keys and values"])
def hostile(request: pytest.FixtureRequest) -> RunDocument:
    """Return that run with the hostile text in every place where a stored one may have it."""
    found = poisoned(everything(), (RUN_ID, CREATED), keys=request.param != "values")
    return decode_document(encode_document(found), "run")


def test_the_hostile_text_is_wherever_a_stored_run_has_names(hostile: RunDocument) -> None:
    found = encode_document(hostile).decode()
    assert found.count(json.dumps(HOSTILE, ensure_ascii=False)[1:20]) > 400
    (first, *_) = hostile.groups
    assert first.model.startswith(HOSTILE)
    assert all(row.label.startswith(HOSTILE) for row in first.cells)


@pytest.mark.parametrize("options", [{}, {"warnings": True}, {"intervals": True}, {"memory": True}])
@pytest.mark.parametrize("width", [60, 200])
def test_tables_steer_no_terminal(hostile: RunDocument, options: dict[str, bool], width: int, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert harmless_on_a_terminal(to_text(DocumentView(hostile, **options), to_file=True))


@pytest.mark.ci
def test_a_line_break_in_a_name_makes_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100000")
    forged, honest = (poisoned(everything(), (RUN_ID, CREATED), f"a{between}b ") for between in "\n ")
    assert [text.count("\n") for text in shown(forged)] == [text.count("\n") for text in shown(honest)]


def shown(document: RunDocument) -> list[str]:
    options: list[dict[str, bool]] = [{}, {"warnings": True}, {"intervals": True}, {"memory": True}]
    return [
        *(to_text(DocumentView(document, **chosen), to_file=True) for chosen in options),
        *(render_document(document, form) for form in ("md", "csv")),
    ]


def test_colours_are_those_of_irbench(hostile: RunDocument, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=200)
    console.print(Sanitized(DocumentView(hostile)))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1m" in shown
    assert not {"\x1b]", "\x9b", "\x07", "\u202e"} & {
        part for part in ("\x1b]", "\x9b", "\x07", "\u202e") if part in shown
    }


def test_what_users_print_in_python_is_as_harmless(hostile: RunDocument) -> None:
    run = Run(hostile, Path("/nowhere"))
    assert harmless_on_a_terminal(str(run))
    assert harmless_on_a_terminal(repr(run))
    console = Console(file=io.StringIO(), width=120)
    console.print(run)
    assert harmless_on_a_terminal(console.file.getvalue())  # type: ignore[attr-defined]


def test_notebooks_show_no_tag_of_a_name(hostile: RunDocument) -> None:
    assert harmless_in_html(Run(hostile, Path("/nowhere"))._repr_html_())


def test_markdown_has_no_link_image_or_heading_of_a_name(hostile: RunDocument) -> None:
    assert harmless_in_markdown(render_document(hostile, "md"))
    assert harmless_in_markdown(text("md", run_of(hostile), columns=("label", "model", "shapes", "state", "machine")))


def test_spreadsheets_find_no_formula(hostile: RunDocument) -> None:
    assert harmless_in_spreadsheets(render_document(hostile, "csv"))


def test_json_is_exact_and_harmless(hostile: RunDocument) -> None:
    shown = render_document(hostile, "json")
    assert harmless_on_a_terminal(shown)
    assert json.loads(shown) == json.loads(encode_document(hostile))
    lines = render_document(hostile, "jsonl")
    assert harmless_on_a_terminal(lines)
    assert HOSTILE in json.loads(lines.splitlines()[0])["model"]


def test_exports_are_harmless(hostile: RunDocument, subtests: pytest.Subtests) -> None:
    for form in [name for name, form in FORMATS.items() if not form.is_binary and not form.reads_samples]:
        with subtests.test(form=form):
            assert harmless_on_a_terminal(text(form, run_of(hostile)))


def test_the_list_of_runs_is_harmless_in_every_format(hostile: RunDocument) -> None:
    entry = entry_of(hostile, "")
    table = run_table([entry], datetime.fromisoformat(hostile.created))
    assert HOSTILE in "".join(entry.models)
    assert harmless_on_a_terminal(to_text(table, to_file=True))
    assert harmless_in_markdown(table.as_markdown())
    assert harmless_in_spreadsheets(table.as_csv())


@pytest.mark.parametrize("by", ["class", "op", "node"])
def test_profiles_are_harmless_in_every_format(by) -> None:
    found = Profile(poisoned(profiles.example(turn=1)), Path("/nowhere"))
    assert harmless_on_a_terminal(found.to_text("table", by=by))
    assert harmless_in_markdown(found.to_text("md", by=by))
    assert harmless_in_spreadsheets(found.to_text("csv", by=by))
    assert harmless_on_a_terminal(found.to_text("json", by=by))
    assert harmless_in_html(found._repr_html_())
