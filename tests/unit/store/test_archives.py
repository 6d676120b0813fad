"""Archives are written whole and read with suspicion."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import tarfile
from pathlib import Path

import pytest
from stored_runs import measured

from irbench.errors import IrbenchError
from irbench.store.archives import pack, unpack

RUN = "01KAJ3WQ4R8Z6M1X0V9T7S5P3N"


def archive(path: Path, *members: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w:gz", format=form) as tar:
        for member_ in members:
            tar.addfile(member_, io.BytesIO(bytes(member_.size)))
    return path


def member(name: str, **pax_headers: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.pax_headers = 2, pax_headers
    return member


def test_a_run_is_packed_with_the_end_of_its_logs_and_comes_back(tmp_path: Path):
    run = measured(tmp_path / "stored")
    (run.logs / "neighbour-1.log").write_bytes(b"begin" + bytes(1 << 20) + b"end")
    pack([run.folder], tmp_path / "x.tar.gz")
    unpack(tmp_path / "x.tar.gz", tmp_path / "unpacked")
    there = tmp_path / "unpacked" / run.folder.name
    for name in ("run.json", "launch-00-00.bin"):
        assert (there / name).read_bytes() == (run.folder / name).read_bytes()
    log = (there / "logs" / "neighbour-1.log").read_bytes()
    assert len(log) == 1 << 20
    assert log.endswith(b"end")


@pytest.mark.parametrize("name", ["gone.tar.gz", "a\0b", "a" * 300])
def test_an_archive_that_is_not_there_is_called_that(tmp_path: Path, name: str):
    with pytest.raises(IrbenchError, match="There is no file or folder"):
        unpack(tmp_path / name, tmp_path / "unpacked")


@pytest.mark.parametrize(("name", "value"), [("mtime", "1e30"), ("mtime", "nan"), ("path", "a\0b")])
def test_what_extended_headers_claim_is_not_believed(tmp_path: Path, name: str, value: str):
    whole = archive(tmp_path / "x.tar.gz", member(f"runs/2026-11/{RUN}/run.json", **{name: value}))
    unpack(whole, tmp_path / "unpacked")
    assert [path.name for path in (tmp_path / "unpacked" / RUN).iterdir()] == ["run.json"]


def test_an_extended_header_of_impossible_size_is_refused_unread(tmp_path: Path):
    whole = archive(tmp_path / "x.tar.gz", member(f"{RUN}/run.json", comment="x" * (2 << 20)))
    with pytest.raises(IrbenchError, match="larger than any file of a run"):
        unpack(whole, tmp_path / "unpacked")


def test_only_what_the_document_of_a_run_names_is_written_wherever_it_stands(tmp_path: Path):
    run = measured(tmp_path / "stored")
    whole, names = tmp_path / "x.tar.gz", ("launch-00-00.bin", "launch-00-01.bin", "logs/a.log", "run.json")
    (run.logs / "a.log").write_bytes(b"said")
    (run.folder / "launch-00-01.bin").write_bytes(b"a stranger")
    with tarfile.open(whole, "w:gz") as tar:
        for name in names:
            tar.add(run.folder / name, f"{RUN}/{name}")
        tar.add(run.folder / "launch-00-00.bin", f"{RUN[:-1]}X/launch-00-00.bin")  # of a run that is not there
    unpack(whole, tmp_path / "unpacked")
    found = [path for path in (tmp_path / "unpacked").rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path / "unpacked" / RUN).as_posix() for path in found} == {*names} - {names[1]}


@pytest.mark.ci
def test_a_run_of_hundreds_of_launches_moves(tmp_path: Path):
    run = measured(tmp_path / "stored", launches=300)
    pack([run.folder], tmp_path / "x.tar.gz")
    unpack(tmp_path / "x.tar.gz", tmp_path / "unpacked")
    assert len(list((tmp_path / "unpacked" / run.folder.name).glob("launch-*.bin"))) == 300


LIMITS = {
    "MOST_FILES": (2, "more than 2 files"),
    "MOST_RUNS": (0, "more than 0 runs"),
    "MOST_BYTES": (5000, "to more than 0 GiB"),
    "FREE_BYTES": (0, "more than 1 times its own size"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_what_would_not_be_unpacked_is_not_packed_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str):
    most, said = LIMITS[limit]
    run = measured(tmp_path / "stored", launches=3)
    pack([run.folder], tmp_path / "whole.tar.gz")
    monkeypatch.setattr("irbench.store.archives.MOST_RATIO", 1)
    monkeypatch.setattr(f"irbench.store.archives.{limit}", most)
    with pytest.raises(IrbenchError, match=said) as caught:
        unpack(tmp_path / "whole.tar.gz", tmp_path / "unpacked")
    assert "do not trust" in caught.value.hint
    with pytest.raises(IrbenchError, match=said) as caught:
        pack([run.folder], tmp_path / "x.tar.gz")
    assert "fewer runs" in caught.value.hint
    assert not list(tmp_path.glob("*x.tar.gz*"))


def test_runs_are_counted_before_so_many_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irbench.store.archives.MOST_RUNS", 3)
    runs = [member(f"runs/2026-01/{number:026d}/run.json") for number in range(9)]
    with pytest.raises(IrbenchError, match="more than 3 runs"):
        unpack(archive(tmp_path / "x.tar.gz", *runs), tmp_path / "unpacked")
    assert len(list((tmp_path / "unpacked").iterdir())) == 3


def test_folders_and_extended_headers_count_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folders = [tarfile.TarInfo(f"{number}") for number in range(9)]
    for folder in folders:
        folder.type = tarfile.DIRTYPE
    monkeypatch.setattr("irbench.store.archives.MOST_FILES", 8)
    for members in (folders, [member(f"{number}.txt", comment="x") for number in range(5)]):
        with pytest.raises(IrbenchError, match="more than 8 files"):
            unpack(archive(tmp_path / "x.tar.gz", *members), tmp_path / "unpacked")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "x.tar.gz")
    with pytest.raises(IrbenchError, match="is not a regular file") as caught:
        unpack(tmp_path / "x.tar.gz", tmp_path / "unpacked")
    assert "Save it" in caught.value.hint


def test_a_file_that_is_held_twice_is_refused(tmp_path: Path):
    whole = archive(tmp_path / "x.tar.gz", *[member(f"runs/{month}/{RUN}/run.json") for month in (1, 2)])
    with pytest.raises(IrbenchError, match="twice"):
        unpack(whole, tmp_path / "unpacked")


def test_only_the_files_of_runs_are_written(tmp_path: Path):
    names = (f"{RUN}/run.json", f"{RUN}/logs/a.log", f"{RUN}/evil.json", f"{RUN}/logs/.x.log", "notes.txt")
    unpack(archive(tmp_path / "x.tar.gz", *map(member, names)), tmp_path / "unpacked")
    found = {path.relative_to(tmp_path / "unpacked").as_posix() for path in (tmp_path / "unpacked").rglob("*.*")}
    assert found == set(names[:2])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lzma.compress(bytes(99))[:40], "it is not compressed with gzip"),
        (b"\xfd7zXZ\0garbage", "it is not compressed with gzip"),
        (gzip.compress(b""), "it is cut short"),
        (gzip.compress(bytes(100))[:-9], "it is cut short"),
        (gzip.compress(b"\xff" * 512), "its content is damaged"),
        (gzip.compress(bytes(100))[:-8] + bytes(8), "its content is damaged"),
        (gzip.compress(bytes(512))[:10] + b"\xff" * 20, "its content is damaged"),
    ],
    ids=["xz", "damaged xz", "empty", "cut short", "no header", "checksum", "compression"],
)
def test_what_is_no_archive_is_one_clear_error_in_words_of_our_own(tmp_path: Path, content: bytes, reason: str):
    (tmp_path / "x.tar.xz").write_bytes(content)
    with pytest.raises(IrbenchError) as caught:
        unpack(tmp_path / "x.tar.xz", tmp_path / "unpacked")
    assert caught.value.message == f"{tmp_path / 'x.tar.xz'} is not an archive of runs, or is damaged: {reason}."
    assert caught.value.hint


def test_a_model_is_not_overwritten_by_an_archive(tmp_path: Path):
    run = measured(tmp_path / "stored")
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "model.tgz").write_bytes(b"weights")
    for name, said in (("model.onnx", "does not end with .tar.gz"), ("model.tgz", "does not overwrite it")):
        with pytest.raises(IrbenchError, match=said):
            pack([run.folder], tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"weights"
    pack([run.folder], tmp_path / "x.tgz")
    pack([run.folder], tmp_path / "x.tgz")  # an archive may be made again
