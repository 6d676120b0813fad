"""A page says what its runs say, asks for nothing outside of it, and holds untrusted text as text."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest
from documents import cell, document, example, failed, group, speedup

from irbench.charts import drawing
from irbench.core.result import RunDocument
from irbench.features.report import view
from irbench.features.report.contents import NoProgram, Programs, RowProgram
from irbench.features.report.view import page_of_runs
from irbench.pages.html import WITHOUT_CHARTS, html_of
from irbench.pages.values import PageGrid
from irbench.runs.stored_rows import fastest_row
from irbench.spec import Neighbour


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page(*documents: Any, programs: Programs | None = None) -> str:
    return html_of(page_of_runs([(one, Path("nowhere")) for one in documents], programs=programs))


def program_of(run: RunDocument, text: str) -> Programs:
    row = fastest_row(run, 0)
    assert row is not None
    return {(run.run_id, 0): RowProgram(row, text)}


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(text)
    return parser.found


@pytest.fixture(autouse=True)
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "can_draw", lambda: False)


def test_the_verdict_stands_before_the_table():
    text = page(document(example()))
    assert text.index('class="verdict"') < text.index("<table")


def test_the_page_begins_with_what_decides_and_ends_with_the_details(monkeypatch: pytest.MonkeyPatch):
    if not drawing.can_draw():
        pytest.skip("needs the extra report")
    monkeypatch.setattr(view, "can_draw", drawing.can_draw)
    run = document(example())
    text = page(run, programs=program_of(run, "print('the program')"))
    parts = {
        "title": '<h1 class="verdict"><bdi>openvino runs resnet50 1.31 times as fast as tf',
        "interval": "Between 1.29 and 1.33 times, with 95 % confidence",
        "conditions": "2 cores",
        "bars": '<figure id="run0t0-speedups"',
        "recommendation": "Use openvino in fp32, with batch 1",
        "memory": "Peak memory:",
        "code": "print(&#39;the program&#39;)",
        "deploy": "irbench deploy",
        "details": ">Details</h2>",
        "table": "<table",
        "other charts": '<figure id="run0t0-tradeoff"',
        "command": "irbench run resnet50",
    }
    assert list(parts) == sorted(parts, key=lambda name: text.index(parts[name], text.index("<main")))


def test_code_is_opened_on_demand_and_has_a_button_that_copies_it():
    run = document(example())
    text = page(run, programs=program_of(run, "first = 1\nsecond = '<b>'\n"))
    (details,) = re.findall(r'<details class="code">(.*?)</details>', text, re.DOTALL)
    assert "The program of openvino, without irbench" in details
    assert "first = 1\nsecond = &#39;&lt;b&gt;&#39;" in details
    assert re.search(r'<button type="button" class="needs-script copy" hidden>Copy</button>', details)


def test_code_of_a_row_that_has_not_won_says_that_it_looks_fastest():
    undecided = replace(example(), winner=None)
    run = document(undecided)
    assert "The program of openvino, which looks fastest, without irbench" in page(run, programs=program_of(run, "x"))


@pytest.mark.parametrize("why", get_args(NoProgram))
def test_where_a_program_is_missing_a_sentence_says_why_and_names_the_command(why: NoProgram):
    run = document(example())
    ((key, program),) = program_of(run, "").items()
    text = page(run, programs={key: replace(program, missing=why)})
    assert '<details class="code">' not in text
    said = r"The program of openvino is not on this page, because .*: irbench show FOLDER --code openvino"
    assert re.search(said, text)


def test_commands_of_a_page_name_no_folder_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = document(example())
    stored = tmp_path / "results/runs/2026-01" / run.run_id
    elsewhere, usual = f"{run.run_id} openvino -o winner --results FOLDER", f"{run.run_id} openvino -o winner</"
    for root, folder, words in (
        (tmp_path / "results", stored, usual),
        (tmp_path / "others", stored, elsewhere),
        (tmp_path / "results", tmp_path / "copied", "FOLDER openvino -o winner"),
    ):
        monkeypatch.setenv("IRBENCH_RESULTS", str(root))
        text = html_of(page_of_runs([(run, folder)], programs=program_of(run, "x")))
        assert f"irbench deploy {words}" in text
        assert ("FOLDER is where the run is stored" in text) == (words != usual)
        assert str(tmp_path) not in text


def test_tables_of_several_shapes_of_a_model_follow_one_of_all_their_rows():
    short, long = (replace(example(), shapes={"tokens": (1, length)}) for length in (16, 64))
    (entry,) = page_of_runs([(document(short, long), Path())], draws=False).entries
    first, *others = entry.sections
    (grid,) = first.parts
    assert isinstance(grid, PageGrid)
    assert first.question.startswith("All rows")
    assert len(grid.rows) == len(short.cells) + len(long.cells)
    assert len(others) == 2
    (alone,) = page_of_runs([(document(short), Path())], draws=False).entries
    assert len(alone.sections) == 1


def test_a_co_run_begins_with_its_slowdowns_and_not_with_the_rows_of_all_tables():
    alone = cell("ort")
    beside = replace(alone, id="beside", requested=replace(alone.requested, beside=Neighbour("cpu")))
    beside = replace(beside, speedup=speedup(0.5, 0.4, 0.6, "slower"))
    again = replace(alone, id=f"{alone.id}-again", speedup=speedup(1.0, 0.9, 1.1, "same"))
    run = document(group(beside, again, alone), group(beside, again, alone))
    text = page(run)
    assert "slowdowns-grid" in text
    assert "shapes-grid" not in text


def test_every_row_is_in_the_table_with_a_key_of_its_own():
    table = group(cell("ort"), cell("ort", id="again"), failed("openvino"))
    keys = [attributes["data-row"] for tag, attributes in tags(page(document(table))) if tag == "tr" and attributes]
    assert len(keys) == len(set(keys)) == 3


def test_two_runs_share_no_key():
    identifiers = [
        attributes["id"] for _, attributes in tags(page(document(example()), document(example()))) if "id" in attributes
    ]
    assert len(identifiers) == len(set(identifiers))


def test_style_and_script_are_those_that_the_policy_allows_and_nothing_else_is():
    text = page(document(example()))
    policy = next(a["content"] for tag, a in tags(text) if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_nothing_outside_the_page_is_asked_for():
    for _, attributes in tags(page(document(example()))):
        assert not {name for name in attributes if name.startswith("on")}
        assert not attributes.get("src")
        assert (attributes.get("href") or "#").startswith("#")


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=1>', "\u202egnp.exe", "a" * 4000])
def test_names_of_others_stay_text(name: str):
    table = replace(group(cell("ort", label=name)), model=name)
    text = page(document(table, plan={"name": name, "note": name, "command": [name]}))
    assert [tag for tag, _ in tags(text)].count("script") == 1
    assert "img" not in [tag for tag, _ in tags(text)]
    assert "\u202e" not in text


def test_without_the_libraries_that_draw_the_page_has_its_tables_and_says_what_is_missing():
    text = page(document(example()))
    assert WITHOUT_CHARTS in unescape(text)
    assert str(Path(sys.prefix)) not in text, "whoever reads a page has another machine"
    assert "<svg" not in text
    assert "<table" in text


def test_samples_that_are_gone_leave_out_their_charts_alone(monkeypatch: pytest.MonkeyPatch):
    if not drawing.can_draw():
        pytest.skip("needs the extra report")
    monkeypatch.setattr(view, "can_draw", drawing.can_draw)
    text = page(document(example(), launches={"0000.bin": "0" * 64}))
    assert "speedups" in text
    assert "nowhere" in text
