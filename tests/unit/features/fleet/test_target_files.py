"""A target has what it was sent by its content, and a job finds it where its plan names it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.features.fleet.jobs import Job, Shipments
from irbench.features.fleet.messages import JobOutcome, JobRequest, SentFile, packed, unpacked
from irbench.features.fleet.on_target import files, tasks
from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.features.plan.table_options import SweepSetup
from irbench.system.home import home

pytestmark = pytest.mark.usefixtures("own_home")
_JOB = "0" * 12


def sent(content: bytes) -> SentFile:
    """Send a model, and return how a job names it."""
    file = SentFile("models/a.onnx", hashlib.sha256(content).hexdigest(), len(content))
    files.take_piece(file, _JOB, 0, content)
    return file


def request(*files: SentFile) -> JobRequest:
    return JobRequest(job=_JOB, name="plan", tables=(), files=files, places={})


def test_a_model_that_was_repaired_takes_the_place_of_the_broken_one(tmp_path: Path):
    for content in (b"broken", b"repaired", b"repaired"):
        files.lay_out(request(sent(content)), tmp_path)
        assert (tmp_path / "models/a.onnx").read_bytes() == content


def test_what_no_job_used_for_long_is_removed_when_more_is_sent():
    old, young = sent(b"old"), sent(b"young")
    kept = home() / "fleet" / "files" / old.sha256
    os.utime(kept, ns=(0, 0))
    newest = sent(b"newest")
    assert files.missing((old, young, newest)) == (old.sha256,)


def test_two_jobs_are_sent_the_same_file_at_once():
    content = b"one two"
    file = SentFile("a.onnx", hashlib.sha256(content).hexdigest(), len(content))
    for offset, piece in ((0, b"one "), (4, b"two")):
        for job in (_JOB, "1" * 12):
            files.take_piece(file, job, offset, piece)
    assert not files.missing((file,))
    assert [path.name for path in (home() / "fleet" / "files").iterdir()] == [file.sha256]


def test_a_kept_file_that_was_changed_is_removed_and_sent_again():
    whole, changed = sent(b"whole"), sent(b"asked for")
    kept = home() / "fleet" / "files" / changed.sha256
    kept.write_bytes(b"another model")
    assert files.missing((whole, changed)) == (changed.sha256,)
    assert not kept.exists()


def test_a_link_in_place_of_a_kept_file_is_not_followed(tmp_path: Path):
    file = sent(b"asked for")
    kept, other = home() / "fleet" / "files" / file.sha256, tmp_path / "other"
    kept.rename(other)
    kept.symlink_to(other)
    assert files.missing((file,)) == (file.sha256,)
    assert other.exists()


def test_a_kept_file_that_is_changed_after_it_was_asked_for_is_not_measured(tmp_path: Path):
    file = sent(b"asked for")
    (home() / "fleet" / "files" / file.sha256).write_bytes(b"another model")
    with pytest.raises(IrbenchError, match="was changed"):
        files.lay_out(request(file), tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_job_that_writes_to_its_model_changes_none_of_another_job(tmp_path: Path):
    file = sent(b"asked for")
    for job in ("a", "b"):
        files.lay_out(request(file), tmp_path / job)
    (tmp_path / "a/models/a.onnx").write_bytes(b"changed")
    assert (tmp_path / "b/models/a.onnx").read_bytes() == b"asked for"
    assert not files.missing((file,))


def test_more_than_was_announced_is_refused_before_it_is_written():
    file = SentFile("a.onnx", hashlib.sha256(b"12").hexdigest(), 2)
    files.take_piece(file, _JOB, 0, b"1")
    with pytest.raises(IrbenchError, match="2 bytes"):
        files.take_piece(file, _JOB, 1, b"2" * 100)
    assert not list((home() / "fleet" / "files").iterdir())


def test_no_other_user_looks_into_the_folders_of_a_fleet():
    (home() / "fleet").mkdir(parents=True, mode=0o755)
    sent(b"a model")
    folders = (home() / "fleet", home() / "fleet/files", home() / "fleet/jobs", files.job_folder(_JOB, make=True))
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 4


@pytest.mark.parametrize("name", ["fleet", "fleet/files", "fleet/jobs", f"fleet/jobs/{_JOB}"])
@pytest.mark.parametrize("fault", ["written by others", "a link"])
def test_a_folder_that_others_can_change_is_refused_by_its_name(name: str, fault: str, tmp_path: Path):
    files.job_folder(_JOB, make=True)
    sent(b"a model")
    folder = home() / name
    if fault == "a link":
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "moved")
    else:
        folder.chmod(0o770)
    with pytest.raises(IrbenchError, match=f"^{folder} is not a folder that this user alone"):
        files.missing((SentFile("a.onnx", "0" * 64, 0),)) if name == "fleet/files" else files.job_folder(_JOB)


def test_a_job_goes_on_in_its_folder_where_new_folders_are_written_by_a_group(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "_measured", lambda _folder: JobOutcome(kind="busy"))
    before = os.umask(0o002)
    try:
        answers = [unpacked(tasks.measure(packed(request())), JobOutcome, "A target") for _ in range(2)]
    finally:
        os.umask(before)
    assert [(answer.kind, answer.message) for answer in answers] == [("busy", "")] * 2


def test_a_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch):
    files.job_folder(_JOB, make=True)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    with pytest.raises(IrbenchError, match=f"^{home()}/fleet is not a folder that this user alone"):
        files.job_folder(_JOB)


def test_a_model_that_changes_between_two_jobs_is_not_sent_as_the_old_one(tmp_path: Path):
    (tmp_path / "inputs.npz").write_bytes(b"old")
    table = SweepTable((SweepCell({"data": "inputs.npz"}),), ())
    shipments = Shipments((table,), SweepSetup("plan", tmp_path, tmp_path), lambda _text: None)
    (first,) = shipments.request(Job(_JOB, "", (table,), 0.0), "plan").files
    assert shipments.source(first.sha256) == tmp_path / "inputs.npz"
    (tmp_path / "inputs.npz").write_bytes(b"new")
    with pytest.raises(IrbenchError, match="was changed after"):
        shipments.source(first.sha256)
