"""Living with stored runs through the front door: listing, removing, moving, and whatever befalls a folder."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ENVIRONMENT, cell, example, failed, group, launch, speedup
from front_door import Called, irbench

from irbench.result import GroupResult
from irbench.store import RunWriter, Store

PREVIEW = group(cell("openvino", speedup=speedup(1.1, 1.05, 1.2, "preview")), cell("ort"), preview=True)
FAILED = group(failed("ort"), failed("openvino"), baseline=None, stopped_by="failures")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


def measured(root: Path, *tables: GroupResult, launches: int = 1) -> RunWriter:
    writer = Store(root).begin(ENVIRONMENT, {})
    for number in range(launches):
        writer.add_launch(launch(number))
    writer.commit(replace(writer.document, groups=tables or (example(),), complete=True))
    return writer


def results(root: Path, *arguments: object) -> Called:
    return irbench("results", *arguments, "--results", root)


def listed(root: Path, *arguments: object) -> list[dict[str, Any]]:
    called = irbench("results", "--results", root, "--format", "json", *arguments)
    assert called.code == 0, called.err
    found: list[dict[str, Any]] = called.document["runs"]
    return found


def names(root: Path) -> set[str]:
    return {entry["run_id"] for entry in listed(root)}


def refused(called: Called, said: str, hint: str) -> None:
    assert called.code == 2, called.err
    problem, remedy = called.err.strip().splitlines()[-2:]
    assert problem.startswith("error: ")
    assert said in problem
    assert remedy.startswith("hint: ")
    assert hint in remedy


def altered(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def older_and_newer(root: Path, older: GroupResult, newer: GroupResult) -> tuple[RunWriter, RunWriter]:
    """Store two runs, the second of which is surely the newer one."""
    first = measured(root, older)
    while (second := measured(root, newer)).document.run_id < first.document.run_id:
        shutil.rmtree(second.folder)
    return first, second


# what a listing says


def test_a_listing_tells_winners_previews_and_failures_apart(root: Path) -> None:
    runs = {measured(root, table).document.run_id: table for table in (example(), PREVIEW, FAILED)}
    said = {"preview: openvino 1.10x ort", "openvino 1.14x ort", "failed"}
    assert {entry["outcomes"][0] for entry in listed(root)} == said
    table = irbench("results", "--results", root).out
    assert [one for one in (*said, *runs) if one not in table] == [], table


def test_latest_is_the_newest_run_with_a_figure_and_says_what_it_passed_over(root: Path) -> None:
    older, newer = older_and_newer(root, example(), FAILED)
    shown = irbench("show", "--results", root)
    assert shown.code == 0
    assert f"run {older.document.run_id}" in shown.err
    assert f"{newer.document.run_id} is newer, but none of its cells was measured" in shown.err


def test_latest_falls_back_on_a_run_without_a_figure_and_says_so(root: Path) -> None:
    only = measured(root, FAILED)
    shown = irbench("show", "latest", "--results", root)
    assert f"run {only.document.run_id}" in shown.err
    assert "no stored run has a measured cell" in shown.err
    assert "SIGSEGV" in shown.out


# removing


def test_runs_are_removed_by_name_beginning_and_folder(root: Path) -> None:
    first, second, third, kept = (measured(root) for _ in range(4))
    called = results(root, "rm", first.document.run_id.lower(), second.folder, third.folder / "run.json", "--yes")
    assert called.code == 0, called.err
    assert called.out.count("removed ") == 3
    assert names(root) == {kept.document.run_id}
    assert not first.folder.exists()


def test_nothing_is_removed_without_a_yes_where_nobody_can_be_asked(root: Path) -> None:
    run = measured(root)
    refused(results(root, "rm", run.document.run_id), "no terminal", "--yes")
    assert names(root) == {run.document.run_id}


@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1), ("", 1)])
def test_a_terminal_is_asked_with_what_would_be_lost(root: Path, answer: str, left: int) -> None:
    run = measured(root)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "irbench", "results", "rm", run.document.run_id, "--results", str(root)]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, text=True) as asked:
        os.write(ours, f"{answer}\n".encode())
        _, said = asked.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert asked.returncode == 0
    assert "openvino 1.14x ort" in said
    assert "Remove this run for good? [y/N]" in said
    assert len(names(root)) == left


@pytest.mark.parametrize("wrong", ["nope", ""])
def test_no_run_is_removed_where_one_name_is_wrong(root: Path, wrong: str) -> None:
    run = measured(root)
    refused(results(root, "rm", run.document.run_id, wrong, "--yes"), "There is no run", "irbench results")
    assert names(root) == {run.document.run_id}


def test_a_beginning_that_fits_several_removes_none(root: Path) -> None:
    runs = {measured(root).document.run_id for _ in range(2)}
    refused(results(root, "rm", "0", "--yes"), "2 runs begin with '0'", "Write more of it")
    assert names(root) == runs


def test_a_folder_that_is_not_stored_here_is_not_removed(root: Path, tmp_path: Path) -> None:
    measured(root)
    elsewhere = measured(tmp_path / "elsewhere")
    refused(results(root, "rm", elsewhere.folder, "--yes"), "is not stored in", "--results")
    assert elsewhere.folder.is_dir()


def test_latest_is_not_removed_where_it_is_not_the_newest(root: Path) -> None:
    older, newer = older_and_newer(root, example(), FAILED)
    refused(results(root, "rm", "latest", "--yes"), newer.document.run_id, "by its name")
    assert results(root, "rm", newer.document.run_id, "--yes").code == 0
    assert older.document.run_id in results(root, "rm", "latest", "--yes").out
    assert names(root) == set()


# moving


def test_runs_move_to_another_machine_as_they_were(root: Path, tmp_path: Path) -> None:
    runs = [measured(root, launches=2) for _ in range(2)]
    archive, there = tmp_path / "runs.tar.gz", tmp_path / "there"
    packed = results(root, "export", *(run.document.run_id for run in runs), "-o", archive)
    assert packed.code == 0, packed.err
    assert packed.out.count("exported ") == 2
    moved = results(there, "import", archive)
    assert moved.code == 0, moved.err
    assert moved.out.count("imported ") == 2
    for run in runs:
        arrived = Store(there).find(run.document.run_id)
        assert Store(there).load(arrived) == run.document
        assert len(Store(there).launches(arrived)) == 2
    again = results(there, "import", archive)
    assert again.code == 0
    assert again.out == ""
    assert again.err.count("was here already") == 2
    assert [path.name for path in there.iterdir()] == ["runs"]


def test_an_archive_unpacks_to_a_folder_of_results_with_tar_alone(root: Path, tmp_path: Path) -> None:
    run = measured(root)
    results(root, "export", "latest", "-o", tmp_path / "run.tar.gz")
    subprocess.run(["tar", "xzf", tmp_path / "run.tar.gz", "-C", tmp_path], check=True)
    assert names(tmp_path) == {run.document.run_id}


def test_a_folder_of_runs_is_imported_too(root: Path, tmp_path: Path) -> None:
    runs = {measured(root).document.run_id for _ in range(2)}
    assert results(tmp_path / "there", "import", root).code == 0
    assert names(tmp_path / "there") == runs


def test_a_run_that_is_here_with_other_content_is_refused(root: Path, tmp_path: Path) -> None:
    run, other = measured(root), measured(root)
    results(root, "export", run.document.run_id, other.document.run_id, "-o", tmp_path / "runs.tar.gz")
    there = tmp_path / "there"
    assert results(there, "import", run.folder).code == 0
    here = Store(there).find(run.document.run_id)
    changed = (here / "run.json").read_bytes().replace(b'"model": "resnet50"', b'"model": "resnet51"')
    (here / "run.json").write_bytes(changed)
    refused(results(there, "import", tmp_path / "runs.tar.gz"), "with other content", "irbench results rm")
    assert (here / "run.json").read_bytes() == changed
    assert names(there) == {run.document.run_id}


def test_a_damaged_launch_is_neither_exported_nor_imported(root: Path, tmp_path: Path) -> None:
    run, sound = measured(root), measured(root)
    path = run.folder / "launch-00-00.bin"
    path.write_bytes(altered(path.read_bytes()))
    asked = (sound.document.run_id, run.document.run_id)
    refused(results(root, "export", *asked, "-o", tmp_path / "x.tar.gz"), "launch-00-00.bin is damaged", "copy")
    assert not list(tmp_path.glob("*x.tar.gz*"))
    refused(results(tmp_path / "there", "import", root), "launch-00-00.bin is damaged", "copy")
    assert names(tmp_path / "there") == set()
    assert not list((tmp_path / "there").glob(".*"))


def archive_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member, data in members:
            member.size = len(data) if member.isfile() else 0
            tar.addfile(member, io.BytesIO(data))
    return path


def member(name: str, **facts: Any) -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(one, key, value)
    return one


@pytest.mark.parametrize(
    "hostile",
    [
        member("../escaped.json"),
        member("/tmp/irbench-escaped.json"),
        member("runs/link.json", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("runs/link.bin", type=tarfile.LNKTYPE, linkname="run.json"),
        member("runs/pipe.json", type=tarfile.FIFOTYPE),
        member("runs/device.json", type=tarfile.CHRTYPE),
    ],
    ids=lambda one: one.name,
)
def test_an_archive_that_reaches_out_of_its_folder_is_refused(root: Path, tmp_path: Path, hostile: Any) -> None:
    sound = measured(tmp_path / "elsewhere")
    data = (sound.folder / "run.json").read_bytes()
    archive = archive_of(tmp_path / "x.tar.gz", (member("runs/a/b/run.json"), data), (hostile, b"{}"))
    refused(results(root, "import", archive), repr(hostile.name), "do not trust")
    assert names(root) == set()
    assert not Path("/tmp/irbench-escaped.json").exists()


def test_a_member_of_impossible_size_is_refused_before_it_is_unpacked(root: Path, tmp_path: Path) -> None:
    header = member("runs/a/b/run.json", size=1 << 41).tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "x.tar").write_bytes(header + bytes(10240))
    refused(results(root, "import", tmp_path / "x.tar"), "2199.0 GB", "Make room")


def test_a_launch_whose_name_leads_elsewhere_is_refused(root: Path, tmp_path: Path) -> None:
    run = measured(tmp_path / "elsewhere")
    (tmp_path / "secret").write_text("a secret")
    document = json.loads((run.folder / "run.json").read_text())
    document["launches"] = {"../../../../secret": hashlib.sha256(b"a secret").hexdigest()}
    (run.folder / "run.json").write_text(json.dumps(document))
    refused(results(root, "import", tmp_path / "elsewhere"), "no launch's name", "copy")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda whole: b"", "no archive of runs"),
        (lambda whole: b"no archive" * 100, "no archive of runs"),
        (lambda whole: whole[: len(whole) // 2], "no archive of runs"),
        (lambda whole: whole[:200] + bytes(50) + whole[250:], "no archive of runs"),
    ],
    ids=["empty", "text", "cut", "overwritten"],
)
def test_a_broken_archive_imports_nothing(
    root: Path, tmp_path: Path, content: Callable[[bytes], bytes], said: str
) -> None:
    measured(tmp_path / "elsewhere", launches=3)
    archive = tmp_path / "x.tar.gz"
    results(tmp_path / "elsewhere", "export", "latest", "-o", archive)
    archive.write_bytes(content(archive.read_bytes()))
    refused(results(root, "import", archive), said, "export")
    assert names(root) == set()


def test_an_archive_without_runs_and_one_that_is_missing_are_told_apart(root: Path, tmp_path: Path) -> None:
    empty = archive_of(tmp_path / "x.tar.gz", (member("notes.txt"), b"hello"))
    refused(results(root, "import", empty), "holds no run", "irbench results export")
    refused(results(root, "import", tmp_path / "missing.tar.gz"), "does not exist", "--help")


def test_a_run_of_a_newer_irbench_is_listed_as_a_problem_and_asks_for_an_update(root: Path, tmp_path: Path) -> None:
    newer, sound = measured(root), measured(root)
    document = json.loads((newer.folder / "run.json").read_text())
    (newer.folder / "run.json").write_text(json.dumps({**document, "schema_version": 99}))
    called = irbench("results", "--results", root)
    assert "warning: " in called.err
    assert "written by a newer irbench" in called.err
    assert sound.document.run_id in called.out
    refused(irbench("show", newer.document.run_id, "--results", root), "newer irbench", "pip install --upgrade")
    refused(results(tmp_path / "there", "import", newer.folder), "newer irbench", "pip install --upgrade")


# whatever befalls a folder


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: "", "is damaged"),
        (lambda text: text.replace('"model"', '"modle"'), "is damaged"),
        (lambda text: text.replace('"run_id": "0', '"run_id": "../0'), "no run's name"),
        (lambda text: text.replace('"created": "2', '"created": "x2'), "is damaged"),
        (lambda text: re.sub(r'("winner": \{\s+"cell": ")', r"\1x", text), "none of its rows"),
    ],
    ids=["cut", "empty", "renamed field", "name", "moment", "winner"],
)
def test_a_damaged_document_is_named_and_hides_no_other_run(root: Path, harm: Callable[[str], str], said: str) -> None:
    damaged, sound = measured(root), measured(root)
    path = damaged.folder / "run.json"
    before = path.read_text()
    path.write_text(harm(before))
    assert path.read_text() != before
    called = irbench("results", "--results", root)
    assert called.code == 0
    assert sound.document.run_id in called.out
    assert str(path) in called.err
    refused(irbench("show", damaged.document.run_id, "--results", root), said, "no other run is affected")
    assert irbench("show", sound.document.run_id, "--results", root).code == 0


@pytest.mark.parametrize("harm", ["deleted", "cut", "garbage", "empty"])
def test_a_broken_index_is_made_anew(root: Path, harm: str) -> None:
    measured(root)
    before = listed(root)
    index = root / "index.sqlite"
    data = index.read_bytes()
    index.unlink()
    if harm != "deleted":
        index.write_bytes({"cut": data[: len(data) // 2], "garbage": b"no database" * 500, "empty": b""}[harm])
    assert listed(root) == before
    assert sqlite3.connect(index).execute("select count(*) from runs").fetchone() == (1,)


def test_an_index_that_another_process_holds_is_waited_for_and_then_done_without(root: Path) -> None:
    measured(root)
    before = listed(root)
    holder = sqlite3.connect(root / "index.sqlite", isolation_level=None)
    holder.execute("pragma locking_mode=exclusive")
    holder.execute("begin exclusive")
    measured(root, PREVIEW)
    assert len(listed(root)) == 2
    assert holder.execute("select count(*) from runs").fetchone() == (1,)  # it was not taken away
    holder.close()
    assert len(listed(root)) == 2
    assert before[0] in listed(root)


def test_rebuilding_counts_the_runs_and_names_those_that_cannot_be_read(root: Path) -> None:
    damaged, _ = measured(root), measured(root)
    listed(root)
    (damaged.folder / "run.json").write_text("{")
    called = results(root, "--rebuild")
    assert called.code == 0
    assert called.out == f"index of {root} made anew: 1 run, 1 cannot be read\n"
    assert str(damaged.folder) in called.err


def test_a_folder_that_may_only_be_read_is_listed(root: Path) -> None:
    measured(root)
    before = listed(root)
    folders = [Path(folder) for folder, _, _ in os.walk(root)]
    for folder in folders:
        folder.chmod(0o555)
    try:
        called = without_privileges("results", "--results", root, "--format", "json")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert json.loads(called.stdout)["runs"] == before
    assert called.stderr == ""


def without_privileges(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Call irbench so that permissions count, which root is above."""
    lowered = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere")
    prefix = lowered if os.getuid() == 0 else ()
    command = [*prefix, sys.executable, "-m", "irbench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_folders_copied_in_by_hand_are_runs_and_unfinished_ones_are_not(root: Path, tmp_path: Path) -> None:
    run, other = measured(root), measured(tmp_path / "elsewhere")
    shutil.copytree(other.folder, run.folder.parent / other.folder.name)
    shutil.copytree(other.folder, run.folder.parent / ".import-unfinished")
    shutil.copytree(other.folder, root / "runs" / ".import-unfinished" / "x")
    (run.folder.parent / "01EMPTY").mkdir()
    (run.folder.parent / "a file").write_text("")
    assert len(listed(root)) == 2
    assert names(root) == {run.document.run_id, other.document.run_id}


_WRITER = """
import sys
from pathlib import Path
from dataclasses import replace
from documents import example, launch
from irbench.store import Store
for _ in range(20):
    writer = Store(Path(sys.argv[1])).begin({}, {})
    for number in range(3):
        writer.add_launch(launch(number))
        writer.commit(replace(writer.document, groups=(example(),), complete=number == 2))
"""


def test_two_processes_may_write_while_others_list(root: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(root)]) for _ in range(2)]
    readers = [
        subprocess.Popen([sys.executable, "-m", "irbench", "results", "--results", str(root)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    complaints = [reader.communicate(timeout=120)[1] for reader in readers]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert [reader.returncode for reader in readers] == [0, 0, 0]
    assert not any(b"warning" in said for said in complaints)
    assert len(listed(root)) == 40
    assert all(entry["complete"] and entry["launches"] == 3 for entry in listed(root))


# a wrong call


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("ipmort",), "irbench results has no command 'ipmort'", "Did you mean import?"),
        (("remove",), "irbench results has no command 'remove'", "Commands: export, import, rm"),
        (("rm",), "Missing argument", "irbench results rm --help"),
        (("import",), "Missing argument", "irbench results import --help"),
        (("export", "latest"), "Missing option '-o'", "irbench results export --help"),
        (("export", "latest", "-o", "-"), "not written to stdout", "-o"),
        (("export", "latest", "-o", "/nowhere/x.tar.gz"), "/nowhere", "mkdir -p"),
        (("export", "latest", "-o", "/"), "is a folder", "-o"),
        (("--limit", "3", "rm", "x"), "--limit before rm", "Leave it out"),
        (("--results", "x", "rm", "x"), "--results before rm", "results rm ... --results"),
        (("--rebuild", "--limit", "3"), "contradict", "Rebuild first"),
        (("--limit", "0"), "0 is not in the range", "--help"),
        (("--since", "-1d"), "'-1d' is not a duration", "--help"),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(arguments: tuple[str, ...], said: str, hint: str) -> None:
    refused(irbench("results", *arguments), said, hint)


# raw samples


def sampled(root: Path, *arguments: object) -> list[dict[str, str]]:
    called = irbench("show", "--samples", "--results", root, *arguments)
    assert called.code == 0, called.err
    return list(csv.DictReader(io.StringIO(called.out)))


def with_launches(root: Path) -> RunWriter:
    """Store two launches of three blocks, five calls each, of two cells; one ran a tail, and one alone."""
    first, second = launch(0, cells=("ort", "tf")), launch(1, cells=("ort", "tf"))
    tail = replace(second.cells[0], tail_ns=np.asarray([7, 8, 9], np.int64))
    busy = replace(second.blocks[1], foreign_cpu_ns=second.blocks[1].wall_ns)
    writer = Store(root).begin(ENVIRONMENT, {"timing": {"min_blocks": 2}})
    writer.add_launch(replace(first, sustained=()))
    writer.add_launch(replace(second, cells=(tail, second.cells[1]), blocks=(second.blocks[0], busy, second.blocks[2])))
    rows = (cell("ort", id="ort", label="ort"), cell("tf", id="tf", label="tf"))
    writer.commit(replace(writer.document, groups=(group(*rows),), complete=True))
    return writer


def test_samples_are_lines_that_say_what_they_belong_to(root: Path) -> None:
    run = with_launches(root)
    lines = sampled(root)
    rounds = [line for line in lines if line["kind"] == "round"]
    assert len(rounds) == 2 * 2 * 3 * 5
    stored = [
        int(latency)
        for record in Store(root).launches(run.folder)
        for one in record.cells
        for round_ in one.rounds
        for latency in round_.latency_ns
    ]
    assert [int(line["latency_ns"]) for line in rounds] == stored
    assert all(int(line["completion_ns"]) - int(line["issue_ns"]) == int(line["latency_ns"]) for line in rounds)
    assert {(line["run_id"], line["model"], line["group"]) for line in lines} == {
        (run.document.run_id, "resnet50", "0")
    }
    assert {(line["launch"], line["block"]) for line in rounds if line["disturbed"] == "1"} == {("1", "1")}
    assert {(line["launch"], line["block"]) for line in rounds if line["counts"] == "0"} == {("1", "1")}


def test_tails_and_runs_alone_are_samples_of_their_own_kind(root: Path) -> None:
    with_launches(root)
    lines = sampled(root)
    tails = [line for line in lines if line["kind"] == "tail"]
    assert [line["latency_ns"] for line in tails] == ["7", "8", "9"]
    assert {(line["row"], line["block"], line["issue_ns"]) for line in tails} == {("ort", "", "")}
    (alone,) = [line for line in lines if line["kind"] == "sustained"]
    assert (alone["calls"], alone["completion_ns"], alone["latency_ns"]) == ("90", str(3 * 10**9), "")


def test_samples_as_json_lines_hold_the_same_with_null_for_nothing(root: Path, tmp_path: Path) -> None:
    with_launches(root)
    called = irbench("show", "--samples", "--format", "jsonl", "-o", tmp_path / "x.jsonl", "--results", root)
    assert (called.code, called.out) == (0, "")
    read = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    as_text = [
        {
            name: "" if value is None else str(int(value) if isinstance(value, bool) else value)
            for name, value in one.items()
        }
        for one in read
    ]
    assert as_text == sampled(root)


def test_samples_of_a_damaged_launch_are_refused_before_the_first_is_printed(root: Path) -> None:
    path = with_launches(root).folder / "launch-00-01.bin"
    path.write_bytes(altered(path.read_bytes()))
    called = irbench("show", "--samples", "--results", root)
    refused(called, "launch-00-01.bin is damaged", "no other run is affected")
    assert called.out == ""


@pytest.mark.parametrize("form", ["table", "json", "md"])
def test_samples_are_not_printed_in_any_other_format(root: Path, form: str) -> None:
    with_launches(root)
    refused(irbench("show", "--samples", "--format", form, "--results", root), f"as {form}", "--format csv or jsonl")
