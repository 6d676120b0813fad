"""A target has what it was sent by its content, and a job finds it where its plan names it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from irbench.features.fleet import target_files
from irbench.features.fleet.messages import JobRequest, SentFile

pytestmark = pytest.mark.usefixtures("own_home")
_JOB = "0" * 12


def sent(content: bytes) -> SentFile:
    """Send a model, and return how a job names it."""
    file = SentFile("models/a.onnx", hashlib.sha256(content).hexdigest(), len(content))
    target_files.take_piece(file.sha256, 0, content, file.size_bytes)
    return file


def request(*files: SentFile) -> JobRequest:
    return JobRequest(job=_JOB, name="plan", tables=(), files=files, places={})


def test_a_model_that_was_repaired_takes_the_place_of_the_broken_one(tmp_path: Path):
    for content in (b"broken", b"repaired", b"repaired"):
        target_files.lay_out(request(sent(content)), tmp_path)
        assert (tmp_path / "models/a.onnx").read_bytes() == content
