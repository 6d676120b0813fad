"""Runs move between machines whole and as they were measured, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from front_door import irbench
from stored_runs import altered, measured, names, refused, results

from irbench.store.runs import Store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


@pytest.mark.ci
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
    assert again.err.count("is already stored") == 2
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


def test_what_an_import_leaves_out_is_named_with_a_remedy_and_makes_the_exit_code(root: Path, tmp_path: Path) -> None:
    run, linked, there = measured(root), measured(tmp_path / "elsewhere"), tmp_path / "there"
    (run.folder.parent / linked.folder.name).symlink_to(linked.folder)
    os.mkfifo(root / "pipe")
    called = results(there, "import", root)
    assert (called.code, called.out) == (3, f"imported {run.folder.name}\n")
    pipe, link = sorted(called.err.splitlines(), key=lambda line: "symbolic link" in line)
    assert pipe.startswith(f"error: {root / 'pipe'} was left out: it is neither a file nor a folder. Copy ")
    assert link.endswith("it is a symbolic link. If you know where it leads, name that folder.")
    assert linked.folder.name in link
    assert names(there) == {run.folder.name}
    run.folder.rename(tmp_path / run.folder.name)
    called = results(there, "import", root)
    assert (called.code, called.out, called.err.count("was left out")) == (2, "", 2)


def test_what_is_left_out_is_named_on_one_line_whatever_its_name(root: Path, tmp_path: Path) -> None:
    measured(root)
    os.mkfifo(root / "a\nerror: forged\x1b[31m")
    os.mkfifo(os.fsencode(root) + b"/\xff\xfe")
    called = results(tmp_path / "there", "import", root)
    assert called.code == 3
    assert [line.partition(" was left out")[0] for line in sorted(called.err.splitlines())] == [
        f"error: {root}/a error: forged\N{REPLACEMENT CHARACTER}[31m",
        f"error: {root}/{chr(0xFFFD) * 2}",
    ]
    assert json.loads(irbench("compare", root, root, "--format", "json").out)["comparison"]


def test_of_very_many_things_that_are_left_out_ten_are_named(root: Path, tmp_path: Path) -> None:
    measured(root)
    for number in range(12):
        os.mkfifo(root / f"pipe-{number}")
    called = results(tmp_path / "there", "import", root)
    assert (called.code, called.err.count("was left out")) == (3, 10)
    assert called.err.endswith("2 more paths were left out for such reasons.\n")


def test_a_run_that_is_here_with_other_content_is_refused(root: Path, tmp_path: Path) -> None:
    run, other = measured(root), measured(root)
    results(root, "export", run.document.run_id, other.document.run_id, "-o", tmp_path / "runs.tar.gz")
    there = tmp_path / "there"
    assert results(there, "import", run.folder).code == 0
    here = Store(there).find(run.document.run_id)
    changed = (here / "run.json").read_bytes().replace(b'"model": "resnet50"', b'"model": "resnet51"')
    (here / "run.json").write_bytes(changed)
    assert refused(results(there, "import", tmp_path / "runs.tar.gz"), "with different content", "irbench results rm")
    assert (here / "run.json").read_bytes() == changed
    assert names(there) == {run.document.run_id}


def test_a_damaged_launch_is_neither_exported_nor_imported(root: Path, tmp_path: Path) -> None:
    run, sound = measured(root), measured(root)
    path = run.folder / "launch-00-00.bin"
    path.write_bytes(altered(path.read_bytes()))
    asked = (sound.document.run_id, run.document.run_id)
    assert refused(results(root, "export", *asked, "-o", tmp_path / "x.tar.gz"), "launch-00-00.bin is damaged", "copy")
    assert not list(tmp_path.glob("*x.tar.gz*"))
    assert refused(results(tmp_path / "there", "import", root), "launch-00-00.bin is damaged", "copy")
    assert names(tmp_path / "there") == set()
    assert not list((tmp_path / "there").glob(".*"))


def archive_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member, data in members:
            member.size = len(data) if member.isfile() else 0
            tar.addfile(member, io.BytesIO(data))
    return path


def member(name: str, **facts: Any) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(member, key, value)
    return member


@pytest.mark.ci
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
    ids=lambda item: item.name,
)
def test_an_archive_that_reaches_out_of_its_folder_is_refused(root: Path, tmp_path: Path, hostile: Any) -> None:
    sound = measured(tmp_path / "elsewhere")
    data = (sound.folder / "run.json").read_bytes()
    archive = archive_of(tmp_path / "x.tar.gz", (member("runs/a/b/run.json"), data), (hostile, b"{}"))
    assert refused(results(root, "import", archive), repr(hostile.name), "do not trust")
    assert names(root) == set()
    assert not Path("/tmp/irbench-escaped.json").exists()


def test_a_member_of_impossible_size_is_refused_before_it_is_unpacked(root: Path, tmp_path: Path) -> None:
    header = member("runs/a/b/run.json", size=1 << 41).tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(header + bytes(10240)))
    assert refused(results(root, "import", tmp_path / "x.tar.gz"), "2199.0 GB", "do not trust")


def padded(path: Path, *parts: bytes) -> Path:
    """Write an archive of these parts, each compressed by itself."""
    path.write_bytes(b"".join(parts) + gzip.compress(bytes(1024)))
    return path


def test_an_archive_that_unpacks_to_gigabytes_is_refused(root: Path, tmp_path: Path) -> None:
    run = measured(tmp_path / "elsewhere", launches=8)
    data, zeros = (run.folder / "run.json").read_bytes(), gzip.compress(bytes(1 << 24))
    place = f"runs/2026-11/{run.folder.name}"
    parts = [gzip.compress(member(f"{place}/run.json", size=len(data)).tobuf() + data + bytes(-len(data) % 512))]
    for number in range(8):
        header = member(f"{place}/launch-00-{number:02}.bin", size=1 << 28).tobuf()
        parts += [gzip.compress(header), *[zeros] * 16]
    archive = padded(tmp_path / "x.tar.gz", *parts)
    assert archive.stat().st_size < 3 << 20
    assert refused(results(root, "import", archive), "100 times its own size", "do not trust")
    assert list(root.iterdir()) == []


@pytest.mark.slow
def test_an_archive_of_very_many_files_is_refused(root: Path, tmp_path: Path) -> None:
    headers = gzip.compress(member(f"{'0' * 26}/logs/a.log", size=0).tobuf() * 4096)
    archive = padded(tmp_path / "x.tar.gz", *[headers] * 70)
    with archive.open("ab") as file:
        file.write(os.urandom(4 << 20))  # behind its end, so that it is not suspiciously small
    assert refused(results(root, "import", archive), "262,144 files", "do not trust")
    assert list(root.iterdir()) == []


def test_a_launch_whose_name_leads_elsewhere_is_refused(root: Path, tmp_path: Path) -> None:
    run = measured(tmp_path / "elsewhere")
    (tmp_path / "secret").write_text("a secret")
    document = json.loads((run.folder / "run.json").read_text())
    document["launches"] = {"../../../../secret": hashlib.sha256(b"a secret").hexdigest()}
    (run.folder / "run.json").write_text(json.dumps(document))
    assert refused(results(root, "import", tmp_path / "elsewhere"), "is not a valid name of a launch", "copy")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda whole: b"", "not an archive of runs"),
        (lambda whole: b"no archive" * 100, "not an archive of runs"),
        (lambda whole: whole[: len(whole) // 2], "not an archive of runs"),
        (lambda whole: whole[:200] + bytes(50) + whole[250:], "not an archive of runs"),
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
    assert refused(results(root, "import", archive), said, "export")
    assert names(root) == set()


def test_an_archive_without_runs_and_one_that_is_missing_are_told_apart(root: Path, tmp_path: Path) -> None:
    empty = archive_of(tmp_path / "x.tar.gz", (member("notes.txt"), b"hello"))
    assert refused(results(root, "import", empty), "contains no run", "irbench results export")
    assert refused(results(root, "import", tmp_path / "missing.tar.gz"), "does not exist", "--help")


def test_a_run_of_a_newer_irbench_is_listed_as_a_problem_and_asks_for_an_update(root: Path, tmp_path: Path) -> None:
    newer, sound = measured(root), measured(root)
    document = json.loads((newer.folder / "run.json").read_text())
    (newer.folder / "run.json").write_text(json.dumps({**document, "schema_version": 99}))
    called = irbench("results", "--results", root)
    assert "warning: " in called.err
    assert "written by a newer irbench" in called.err
    assert sound.document.run_id in called.out
    assert refused(irbench("show", newer.document.run_id, "--results", root), "newer irbench", "Upgrade irbench: ")
    assert refused(results(tmp_path / "there", "import", newer.folder), "newer irbench", "Upgrade irbench: ")


@pytest.mark.ci
def test_a_launch_that_would_fill_the_memory_is_refused(root: Path, tmp_path: Path) -> None:
    run = measured(tmp_path / "elsewhere")
    series = zlib.compress(bytes(100 << 20))
    parts = b"".join(len(part).to_bytes(4, "little") + part for part in (b"{}", *[series] * 40))
    data = b"IRBENCH1" + hashlib.sha256(parts).digest() + parts
    (run.folder / "launch-00-00.bin").write_bytes(data)
    document = json.loads((run.folder / "run.json").read_text())
    document["launches"] = {"launch-00-00.bin": hashlib.sha256(data).hexdigest()}
    (run.folder / "run.json").write_text(json.dumps(document))
    assert refused(results(root, "import", run.folder), "longer than any", "copy")
    assert names(root) == set()


def test_a_document_larger_than_that_of_any_run_is_refused_before_it_is_read(root: Path, tmp_path: Path) -> None:
    run = measured(tmp_path / "elsewhere")
    whole = (run.folder / "run.json").read_bytes().rstrip()[:-1]
    (run.folder / "run.json").write_bytes(whole + b',"plan":{"x":[' + b"1.5," * 5_000_000 + b"0]}}")
    assert refused(results(root, "import", run.folder), "has more than 17 MB", "do not trust")
    assert names(root) == set()


def test_a_model_is_not_overwritten_by_an_export(root: Path, tmp_path: Path) -> None:
    measured(root)
    (tmp_path / "model.onnx").write_bytes(b"weights")
    assert refused(results(root, "export", "latest", "-o", tmp_path / "model.onnx"), "Unknown file format", ".tar.gz")
    archive = ("--format", "archive", "--force", "-o", tmp_path / "model.onnx")
    assert refused(results(root, "export", "latest", *archive), "does not end with .tar.gz", ".tar.gz")
    assert (tmp_path / "model.onnx").read_bytes() == b"weights"
