"""A target has what it was sent by its content, and a job finds it where its plan names it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from irbench.features.fleet.messages import JobRequest, SentFile
from irbench.features.fleet.on_target import files
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
