"""Whatever befalls a folder of results, the runs that are sound are listed and the others named."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from front_door import irbench
from stored_runs import listed, measured, names, refused, results


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: "", "is damaged"),
        (lambda text: text.replace('"model"', '"modle"'), "is damaged"),
        (lambda text: text.replace('"run_id": "0', '"run_id": "../0'), "is not a valid run id"),
        (lambda text: text.replace('"created": "2', '"created": "x2'), "is damaged"),
        (lambda text: re.sub(r'("winner": \{\s+"cell": ")', r"\1x", text), "is not in its rows"),
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
    assert refused(irbench("show", damaged.document.run_id, "--results", root), said, "other runs are not affected")
    assert irbench("show", sound.document.run_id, "--results", root).code == 0


def test_rebuilding_counts_the_runs_and_names_those_that_cannot_be_read(root: Path) -> None:
    damaged, _ = measured(root), measured(root)
    listed(root)
    (damaged.folder / "run.json").write_text("{")
    called = results(root, "--rebuild")
    assert called.code == 0
    assert called.out == f"index of {root} rebuilt: 1 run, 1 cannot be read\n"
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


@pytest.mark.ci
def test_what_may_not_be_looked_at_is_named_and_hides_no_other_run(root: Path) -> None:
    closed, sound = measured(root), measured(root)
    closed.folder.chmod(0)
    try:
        called = without_privileges("results", "--results", root)
        assert called.returncode == 0
        assert sound.document.run_id in called.stdout
        assert called.stderr.splitlines() == [f"warning: {closed.folder}/run.json cannot be read: Permission denied."]
        (root / "runs").chmod(0)
        called = without_privileges("results", "--results", root)
    finally:
        (root / "runs").chmod(0o755)
        closed.folder.chmod(0o755)
    assert called.returncode == 0
    assert f"warning: {root}/runs cannot be read: Permission denied." in called.stderr


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
from stored_plans import stored_plan
from irbench.store.runs import Store
for _ in range(20):
    writer = Store(Path(sys.argv[1])).begin({}, stored_plan())
    for number in range(3):
        writer.add_launch(launch(number))
        writer.commit(replace(writer.document, groups=(example(),), complete=number == 2))
"""


@pytest.mark.ci
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


def nested(text: str) -> str:
    return text.replace('"plan": {', '"plan": {"deep": ' + "[" * 100_000 + "]" * 100_000, 1)


def nested_less(text: str) -> str:
    return text.replace('"plan": {', '"plan": {"deep": ' + "[" * 500 + "]" * 500, 1)


def immense(text: str) -> str:
    return re.sub(r'"batch": \d+', f'"batch": {10**30}', text)


@pytest.mark.parametrize("harm", [nested, nested_less, immense], ids=lambda harm: harm.__name__)
def test_nesting_and_figures_that_no_run_has_are_one_line_of_a_listing(root: Path, harm: Callable[[str], str]) -> None:
    damaged, sound = measured(root), measured(root)
    path = damaged.folder / "run.json"
    path.write_text(harm(path.read_text()))
    called = irbench("results", "--results", root)
    assert called.code == 0
    assert sound.document.run_id in called.out
    assert len(called.err.splitlines()) == 1
    assert str(path) in called.err
    run = damaged.document.run_id
    assert refused(irbench("show", run, "--results", root), "is damaged", "other runs are not affected")
    exported = irbench("results", "export", run, sound.document.run_id, "-o", root / "runs.csv", "--results", root)
    assert exported.code == 3
    assert sound.document.run_id in (root / "runs.csv").read_text()


def replace_with_a_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere.json")))


def replace_with_a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("gone"))


def replace_with_a_link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def replace_with_a_link_to_a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def replace_with_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_with_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (replace_with_a_link, "it is a symbolic link"),
        (replace_with_a_link_to_nothing, "it is a symbolic link"),
        (replace_with_a_link_to_itself, "it is a symbolic link"),
        (replace_with_a_link_to_a_device, "it is a symbolic link"),
        (replace_with_a_pipe, "it is not a regular file"),
        (replace_with_a_folder, "Is a directory"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_every_reader_names_a_document_that_is_no_regular_file(
    root: Path, harm: Callable[[Path], None], said: str
) -> None:
    damaged, sound = measured(root), measured(root)
    listed(root)  # so that the index knows both
    path = damaged.folder / "run.json"
    harm(path)
    called = irbench("results", "--results", root)
    assert (called.code, called.err) == (0, f"warning: {path} cannot be read: {said}.\n")
    assert names(root) == {sound.document.run_id}
    run = damaged.document.run_id
    for asked in (
        *(("show", name) for name in (run, damaged.folder, path)),
        *(("compare", name, sound.document.run_id) for name in (run, damaged.folder)),
        ("receipt", run),
        ("plan", "from", run),
        ("results", "export", run, "-o", root / "run.tar.gz"),
    ):
        called = irbench(*asked, "--results", root)
        assert (called.code, called.out) == (2, ""), asked
        assert f"{path} cannot be read: {said}" in called.err
    assert irbench("results", "rm", run, "--yes", "--results", root).code == 0
    assert names(root) == {sound.document.run_id}


def test_samples_are_not_read_through_a_link(root: Path) -> None:
    run = measured(root)
    path = next(run.folder.glob("launch-*"))
    path.rename(root / "elsewhere.bin")
    path.symlink_to(root / "elsewhere.bin")
    shown = irbench("show", run.document.run_id, "--samples", "--results", root)
    assert refused(shown, f"{path} cannot be read: it is a symbolic link", "copy that in its place")


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "md"])
def test_a_folder_whose_name_is_not_utf8_is_listed_in_every_form(tmp_path: Path, form: str) -> None:
    root = tmp_path / os.fsdecode(b"results-\xff")
    run = measured(root)
    shutil.copytree(run.folder, run.folder.with_name(os.fsdecode(b"copy-\xfe")))
    for _ in range(2):
        called = irbench("results", "--results", root, "--format", form)
        assert (called.code, called.err) == (0, "")
        assert run.document.run_id in called.out
    assert irbench("show", run.document.run_id, "--results", root).code == 0
    assert irbench("results", "export", run.folder, "-o", root / "run.tar.gz").code == 0
    assert irbench("results", "--results", root, "--format", form, "-o", root / "list").code == 0


LONG = "a" * 300


@pytest.mark.parametrize(
    "asked",
    [
        ("show", LONG),
        ("show", f"{LONG}/run.json"),
        ("results", "rm", LONG, "--yes"),
        ("results", "import", LONG),
        ("results", "export", LONG),
        ("results", "export", "latest", "-o", f"{LONG}.tar.gz"),
        ("results", "export", "latest", "-o", f"{LONG}.csv"),
        ("compare", LONG, "latest"),
        ("history", LONG),
        ("receipt", LONG),
        ("replay", LONG),
        ("profile", "--show", LONG),
        ("plan", "show", LONG),
        ("plan", "show", f"{LONG}.toml"),
        ("sweep", f"{LONG}.toml"),
    ],
    ids=lambda asked: " ".join(word.replace(LONG, "long") for word in asked),
)
def test_a_name_that_no_file_can_have_is_refused_like_any_that_is_not_there(root: Path, asked: tuple[str, ...]) -> None:
    measured(root)
    placed = () if asked[0] == "plan" else ("--results", root)
    called = irbench(*asked, *placed)
    assert called.code in (0, 2), called.err
    assert "Internal error" not in called.err
