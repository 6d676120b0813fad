"""Archives are written whole and read with suspicion."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
from pathlib import Path

import pytest
from stored_runs import measured

from irbench.errors import IrbenchError
from irbench.store.archives import pack, unpack

RUN = "01KAJ3WQ4R8Z6M1X0V9T7S5P3N"


def archive(path: Path, *members: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w:gz", format=form) as tar:
        for one in members:
            tar.addfile(one, io.BytesIO(bytes(one.size)))
    return path


def member(name: str, **pax_headers: str) -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.size, one.pax_headers = 2, pax_headers
    return one


def test_a_run_is_packed_with_the_end_of_its_logs_and_comes_back(tmp_path: Path):
    run = measured(tmp_path / "stored")
    (run.logs / "ort.log").write_bytes(b"begin" + bytes(1 << 20) + b"end")
    pack([run.folder], tmp_path / "x.tar.gz")
    unpack(tmp_path / "x.tar.gz", tmp_path / "unpacked")
    there = tmp_path / "unpacked" / run.folder.name
    for name in ("run.json", "launch-00-00.bin"):
        assert (there / name).read_bytes() == (run.folder / name).read_bytes()
    log = (there / "logs" / "ort.log").read_bytes()
    assert len(log) == 1 << 20
    assert log.endswith(b"end")


@pytest.mark.parametrize(("name", "value"), [("mtime", "1e30"), ("mtime", "nan"), ("path", "a\0b")])
def test_what_extended_headers_claim_is_not_believed(tmp_path: Path, name: str, value: str):
    whole = archive(tmp_path / "x.tar.gz", member(f"runs/2026-11/{RUN}/run.json", **{name: value}))
    unpack(whole, tmp_path / "unpacked")
    assert [path.name for path in (tmp_path / "unpacked" / RUN).iterdir()] == ["run.json"]


def test_an_extended_header_of_impossible_size_is_refused_unread(tmp_path: Path):
    whole = archive(tmp_path / "x.tar.gz", member(f"{RUN}/run.json", comment="x" * (2 << 20)))
    with pytest.raises(IrbenchError, match="more than a run's file has"):
        unpack(whole, tmp_path / "unpacked")


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
    "content",
    [lzma.compress(bytes(99))[:40], b"\xfd7zXZ\0garbage", gzip.compress(b""), gzip.compress(b"\xff" * 512)],
    ids=["xz", "damaged xz", "empty", "no header"],
)
def test_what_is_no_archive_is_one_clear_error(tmp_path: Path, content: bytes):
    (tmp_path / "x.tar.xz").write_bytes(content)
    with pytest.raises(IrbenchError, match="no archive of runs") as caught:
        unpack(tmp_path / "x.tar.xz", tmp_path / "unpacked")
    assert caught.value.hint


def test_a_model_is_not_overwritten_by_an_archive(tmp_path: Path):
    run = measured(tmp_path / "stored")
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "model.tgz").write_bytes(b"weights")
    for name, said in (("model.onnx", "no name of an archive"), ("model.tgz", "is not replaced")):
        with pytest.raises(IrbenchError, match=said):
            pack([run.folder], tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"weights"
    pack([run.folder], tmp_path / "x.tgz")
    pack([run.folder], tmp_path / "x.tgz")  # an archive may be made anew
