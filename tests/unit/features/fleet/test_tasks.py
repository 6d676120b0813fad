"""A target answers with what it has measured already, and measures whatever else it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("distributed")

from irbench.features.fleet.messages import JobOutcome, JobRequest, TableOutcome, packed, unpacked
from irbench.features.fleet.on_target import files, tasks
from irbench.features.fleet.on_target.files import ARCHIVE, OUTCOME

pytestmark = pytest.mark.usefixtures("own_home")
REQUEST = JobRequest(job="0" * 12, name="f", tables=(), files=(), places={})
WHOLE = JobOutcome(kind="measured", tables=(TableOutcome("t", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),))


class Process:
    """Stands for the process of a job, which has an outcome."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: JobOutcome) -> None:
        self.outcome = outcome
        self.begun = 0
        monkeypatch.setattr(tasks.subprocess, "run", self._run)

    def _run(self, *_: Any, **__: Any) -> Any:
        self.begun += 1
        folder = files.job_folder(REQUEST.job)
        if any(table.run for table in self.outcome.tables):
            (folder / ARCHIVE).write_bytes(b"runs")
        (folder / OUTCOME).write_bytes(packed(self.outcome))
        return type("Ended", (), {"returncode": 0})


def measured(request: JobRequest = REQUEST) -> JobOutcome:
    return unpacked(tasks.measure(packed(request)), JobOutcome, "the target")


def test_a_job_that_ended_without_anybody_learning_of_it_is_not_measured_again(monkeypatch: pytest.MonkeyPatch):
    process = Process(monkeypatch, WHOLE)
    answers = [measured(), measured()]
    assert [(answer.kind, answer.archive, answer.tables) for answer in answers] == [
        ("measured", b"runs", WHOLE.tables)
    ] * 2
    assert process.begun == 1


@pytest.mark.parametrize(
    ("outcome", "again"),
    [
        (WHOLE, JobRequest(job=REQUEST.job, name="f", tables=(), files=(), places={"a.onnx": "b"})),
        (JobOutcome(kind="refused", message="no"), REQUEST),
        (JobOutcome(kind="measured", tables=(TableOutcome("t", message="no"),)), REQUEST),
    ],
    ids=["another request", "refused", "measured in part"],
)
def test_what_was_not_measured_whole_or_is_asked_otherwise_is_measured(
    monkeypatch: pytest.MonkeyPatch, outcome: JobOutcome, again: JobRequest
):
    process = Process(monkeypatch, outcome)
    measured()
    measured(again)
    assert process.begun == 2


def test_runs_of_an_earlier_request_are_not_sent_with_one_that_has_none(monkeypatch: pytest.MonkeyPatch):
    process = Process(monkeypatch, WHOLE)
    measured()
    process.outcome = JobOutcome(kind="measured", tables=(TableOutcome("t", message="no"),))
    again = measured(JobRequest(job=REQUEST.job, name="f", tables=(), files=(), places={"a.onnx": "b"}))
    assert (again.archive, (files.job_folder(REQUEST.job) / ARCHIVE).exists()) == (b"", False)
