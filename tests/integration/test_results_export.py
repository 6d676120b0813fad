"""``irbench results export`` and ``irbench show`` write what others read, and what is wrong stops nothing else."""

from __future__ import annotations

import csv
import io
import json
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import models
import pytest
from cold_and_soak_runs import cold, soak_example
from documents import ENVIRONMENT, example, group
from exports import TIMING, speed_launch, speed_rows, stored_run
from fake_runs import run
from front_door import Called, irbench, irbench_here
from stored_plans import stored_plan
from stored_runs import altered, measured, refused, results

from irbench.core.result import RunDocument
from irbench.render.formats.export_formats import FORMATS
from irbench.store import runs as reading
from irbench.store.run_document import decode_document
from irbench.store.runs import Store
from irbench.terminal import run_output as exports


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


def rows(called: Called) -> list[dict[str, str]]:
    assert called.code == 0, called.err
    return list(csv.DictReader(io.StringIO(called.out)))


@pytest.mark.parametrize("form", [form.name for form in FORMATS.values() if not form.library])
def test_every_format_goes_to_a_file_and_to_standard_output(form: str, root: Path, tmp_path: Path) -> None:
    run_id = stored_run(root).document.run_id
    written = results(root, "export", run_id, "--format", form, "-o", tmp_path / "out")
    assert (written.code, written.out) == (0, f"exported {run_id}\n"), written.err
    printed = results(root, "export", run_id, "--format", form)
    assert printed.code == 0
    assert printed.out == (tmp_path / "out").read_text(encoding="utf-8")
    shown = irbench("show", run_id, "--format", form, "--results", root)
    assert shown.out == printed.out


@pytest.mark.parametrize("form", [form.name for form in FORMATS.values() if form.library])
def test_a_binary_format_goes_to_a_file_but_not_to_a_terminal(
    form: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    run_id = stored_run(root).document.run_id
    assert results(root, "export", run_id, "-o", tmp_path / f"runs.{form}").code == 0
    assert (tmp_path / f"runs.{form}").stat().st_size > 1000
    monkeypatch.setattr(exports, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    for call in (("results", "export", run_id, "--format", form), ("show", run_id, "--format", form)):
        assert refused(irbench_here(*call, "--results", root), "is binary, and standard output is a terminal", "-o")


@pytest.mark.parametrize(
    "call", [("show", "latest"), ("results", "export", "latest"), ("run", "gone.onnx"), ("soak", "gone.onnx")]
)
def test_a_library_that_is_missing_is_told_before_anything_is_done(
    call: tuple[str, ...], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    called = irbench_here(*call, "--format", "parquet", "-o", "x.parquet", "--results", root)
    assert called.code == 5
    assert called.err == (
        "error: pyarrow is not installed, which --format parquet needs.\n"
        "hint: Install it with: pip install 'pyarrow>=18'\n"
    )


def test_the_name_of_the_file_tells_the_format(root: Path, tmp_path: Path) -> None:
    run_id = stored_run(root).document.run_id
    for name, beginning in (("a.csv", b"run_id,"), ("a.jsonl", b"{"), ("a.MD", b"### "), ("a.tar.gz", b"\x1f\x8b")):
        assert results(root, "export", run_id, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(beginning)


def test_all_runs_are_one_table_oldest_first(root: Path) -> None:
    runs = sorted(measured(root).document.run_id for _ in range(3))
    found = rows(results(root, "export", "--all", "--format", "csv"))
    assert list(dict.fromkeys(row["run_id"] for row in found)) == runs
    assert len(found) == 3 * len(example().cells)


def test_options_choose_runs_as_they_do_for_a_list(root: Path) -> None:
    wanted = measured(root, replace(example(), model="alexnet")).document.run_id
    measured(root)
    for choice in (("--model", "alexnet"), ("--model", "alexnet", "--since", "1h", "--limit", "1")):
        found = rows(results(root, "export", *choice, "--format", "csv", "--columns", "run_id,label"))
        assert {row["run_id"] for row in found} == {wanted}
        assert list(found[0]) == ["run_id", "label"]


def test_a_run_that_is_named_twice_is_exported_once(root: Path) -> None:
    run_id = measured(root).document.run_id
    assert len(rows(results(root, "export", run_id, "latest", "--format", "csv"))) == len(example().cells)


def test_rows_without_figures_are_rows_too_or_are_named(root: Path) -> None:
    stored_run(root)
    found = rows(results(root, "export", "latest", "--format", "csv", "--columns", "label,state,p50_ms,failure"))
    assert found[2] == {
        "label": "tf", "state": "failed", "p50_ms": "", "failure": "the process was killed by SIGSEGV"
    }  # fmt: skip
    called = results(root, "export", "latest", "--format", "pyperf")
    assert "1 row (tf)" in called.err
    assert len(json.loads(called.out)["benchmarks"]) == 2


@pytest.mark.parametrize("form", ["csv", "pyperf", "chrome-trace"])
def test_whatever_is_wrong_with_runs_is_told_at_once_and_the_others_are_exported(
    form: str, root: Path, tmp_path: Path
) -> None:
    newer, cut, tampered, sound = (stored_run(root) for _ in range(4))
    document = json.loads((newer.folder / "run.json").read_text())
    (newer.folder / "run.json").write_text(json.dumps({**document, "schema_version": 99}))
    (cut.folder / "run.json").write_bytes((cut.folder / "run.json").read_bytes()[:500])
    (samples,) = [path for path in tampered.folder.iterdir() if path.name == "launch-00-01.bin"]
    samples.write_bytes(altered(samples.read_bytes()))
    folders = [run.folder for run in (newer, cut, tampered, sound)]
    for choice in (("--all",), tuple(folders)):
        output = tmp_path / f"{len(choice)}.out"
        called = results(root, "export", *choice, "--format", form, "-o", output)
        assert called.code == 3
        problems = [line for line in called.err.splitlines() if line.startswith("error: ")]
        assert len(problems) == 3, called.err
        for folder, why in zip(folders, ("newer irbench (format 99", "damaged", "checksum"), strict=False):
            assert sum(str(folder) in line and why in line for line in problems) == 1
        assert called.out == f"exported {sound.document.run_id}\n"
        assert output.stat().st_size


def test_an_archive_of_all_runs_says_which_it_does_not_hold(root: Path, tmp_path: Path) -> None:
    damaged, sound = measured(root), measured(root)
    (damaged.folder / "run.json").write_text("{")
    called = results(root, "export", "--all", "-o", tmp_path / "all.tar.gz")
    assert (called.code, called.out) == (3, f"exported {sound.document.run_id}\n")
    assert f"{damaged.folder / 'run.json'} is damaged" in called.err


@pytest.mark.parametrize("name", ["runs.tar.gz", "runs.csv", "link.csv"])
def test_a_file_that_is_there_is_overwritten_only_by_force(name: str, root: Path, tmp_path: Path) -> None:
    measured(root)
    older = tmp_path / name.replace("link", "target")
    assert results(root, "export", "latest", "-o", older).code == 0
    if older.name != name:
        (tmp_path / name).symlink_to(older)
    before = older.read_bytes()
    measured(root)
    assert refused(results(root, "export", "--all", "-o", tmp_path / name), "exists already", "--force")
    assert older.read_bytes() == before
    assert results(root, "export", "--all", "--force", "-o", tmp_path / name).code == 0
    assert older.read_bytes() != before


def test_where_no_run_can_be_read_nothing_is_written(root: Path, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("before")
    called = results(root, "export", "one", "other", "--force", "-o", tmp_path / "out.csv")
    assert refused(called, "None of the runs can be exported", "irbench results")
    assert called.err.count("error: There is no run") == 2
    assert (tmp_path / "out.csv").read_text() == "before"


def test_samples_of_a_table_that_is_not_there_are_refused(root: Path) -> None:
    writer = Store(root).begin(ENVIRONMENT, stored_plan(timing=TIMING))
    writer.add_launch(replace(speed_launch(0), group=3))
    writer.commit(replace(writer.document, groups=(group(*speed_rows()),), complete=True))
    called = results(root, "export", "latest", "--format", "chrome-trace")
    assert called.code == 2
    assert "do not match its document: it has no table 3" in called.err


def test_a_run_that_was_cut_short_is_exported_with_a_warning(root: Path) -> None:
    writer = stored_run(root)
    document = json.loads((writer.folder / "run.json").read_text())
    (writer.folder / "run.json").write_text(json.dumps({**document, "complete": False, "tables_planned": 3}))
    called = results(root, "export", "latest", "--format", "csv")
    assert called.code == 0
    assert "The run is incomplete: 2 of 3 tables are missing." in called.err
    assert len(called.out.splitlines()) == 4


def test_a_file_that_cannot_be_written_is_one_line_and_the_old_one_stays(root: Path, tmp_path: Path) -> None:
    stored_run(root)
    called = results(root, "export", "latest", "--format", "csv", "-o", "/dev/full")
    assert refused(called, "/dev/full cannot be written", "-o")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stored"]


@pytest.mark.ci
@pytest.mark.usefixtures("known_backends")
def test_a_run_is_measured_and_exported_at_once(tmp_path: Path) -> None:
    model = models.mlp(tmp_path).path
    called = run(model, "--format", "pyperf", "-o", tmp_path / "run.json")
    assert called.code == 0, called.err
    names = [found["metadata"]["name"] for found in json.loads((tmp_path / "run.json").read_text())["benchmarks"]]
    assert [name.split()[3] for name in names] == ["fake-a", "fake-b"]


def test_columns_belong_to_tables_of_rows(root: Path) -> None:
    stored_run(root)
    assert refused(irbench("show", "--columns", "label", "--format", "json", "--results", root), "--format json", "csv")
    called = irbench("show", "--samples", "--columns", "label", "--results", root)
    assert refused(called, "--samples has columns of its own", "--columns")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow"])
def test_tables_of_many_runs_read_each_document_once_and_hold_one_at_a_time(
    form: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if FORMATS[form].library:
        pytest.importorskip(FORMATS[form].library)
    for _ in range(12):
        stored_run(root, launches=1)
    assert results(root).code == 0
    held: list[weakref.ref[RunDocument]] = []
    most = 0

    def decoded(*args: Any, **options: Any) -> RunDocument:
        nonlocal most
        document = decode_document(*args, **options)
        held.append(weakref.ref(document))
        most = max(most, sum(known() is not None for known in held))
        return document

    monkeypatch.setattr(reading, "decode_document", decoded)
    assert results(root, "export", "--all", "--format", form, "-o", tmp_path / "out").code == 0
    assert (len(held), most <= 3) == (12, True)


def test_more_than_ten_exported_runs_are_told_on_one_line(root: Path, tmp_path: Path) -> None:
    ids = [measured(root).document.run_id for _ in range(11)]
    for output in ("runs.csv", "runs.tar.gz"):
        called = results(root, "export", "--all", "-o", tmp_path / output)
        assert called.out == f"exported 11 runs: {ids[0]} to {ids[-1]}\n"
    few = results(root, "export", "--all", "--limit", "10", "-o", tmp_path / "few.csv")
    assert few.out == "".join(f"exported {run_id}\n" for run_id in ids[1:])


def test_a_damaged_first_run_leaves_the_columns_and_rows_of_the_others(root: Path, tmp_path: Path) -> None:
    runs = [stored_run(root, launches=1) for _ in range(3)]
    launch = runs[0].folder / "launch-00-00.bin"
    launch.write_bytes(launch.read_bytes()[:-1])
    called = results(root, "export", "--all", "--format", "csv")
    whole = results(root, "export", *(run.folder for run in runs[1:]), "--format", "csv")
    assert (called.code, called.out) == (3, whole.out)
    assert f"{launch} is damaged" in called.err


def test_runs_of_several_kinds_share_one_heading_whichever_comes_first(root: Path) -> None:
    store = Store(root)
    for tables in ({"soaks": soak_example().soaks}, {"cold_starts": cold().cold_starts}, {"groups": (example(),)}):
        writer = store.begin(ENVIRONMENT, stored_plan())
        writer.commit(replace(writer.document, **tables, complete=True))
    found = rows(results(root, "export", "--all", "--format", "csv"))
    assert list(dict.fromkeys(row["kind"] for row in found)) == ["soak", "cold-start", "speed"]
    assert {"growth_limit_bytes_per_call", "ready_ms", "speedup"} <= found[0].keys()
