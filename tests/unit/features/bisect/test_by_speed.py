"""Judging versions by speed: an undecided comparison is repeated with more time, and not for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import cell, document, group, speedup

from irbench.api.progress import Reporter
from irbench.core.record import Failure
from irbench.core.result import StoppedBy
from irbench.core.row import CellResult, Speedup
from irbench.errors import IrbenchError
from irbench.features.bisect import by_speed as bisect_by_speed
from irbench.features.bisect.by_speed import SpeedComparer
from irbench.options.run import RunOptions
from irbench.runs.measurement import StoredRun
from irbench.spec import PythonEnvironment

SAME = speedup(1.0, 0.99, 1.01, "same")
FASTER = speedup(1.21, 1.20, 1.22)
UNDECIDED = speedup(1.1, 0.9, 1.3, "undecided")


def environments(baseline: str, version: str) -> tuple[PythonEnvironment, ...]:
    return tuple(PythonEnvironment(key, label, None) for key, label in (("a", baseline), ("b", version)))


class Measured:
    """Takes the place of a run: each call has the next speedup."""

    def __init__(self, found: Sequence[Speedup | Failure], stopped_by: StoppedBy = "target") -> None:
        self.found = list(found)
        self.stopped_by = stopped_by
        self.asked: list[RunOptions] = []

    def __call__(self, options: RunOptions, reporter: Reporter) -> StoredRun:
        self.asked.append(options)
        found = self.found.pop(0)
        changes: dict[str, Any] = (
            {"state": "failed", "failure": found} if isinstance(found, Failure) else {"speedup": found}
        )
        rows: list[CellResult] = [
            replace(cell("A"), environment=options.environments[0]),
            replace(cell("B"), environment=options.environments[1], **changes),
        ]
        table = replace(group(*rows), stopped_by=self.stopped_by)
        return StoredRun(document(table), Path())


def judge(monkeypatch: pytest.MonkeyPatch, *found: Speedup | Failure, **facts: Any) -> tuple[SpeedComparer, Measured]:
    measured = Measured(found, **facts)
    monkeypatch.setattr(bisect_by_speed, "measure", measured)
    reporter = Reporter(lambda _: None, lambda _: None)
    return SpeedComparer(RunOptions(within=0.03, budget=10), environments, reporter), measured


def test_a_decided_comparison_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, measured = judge(monkeypatch, FASTER)
    step, differ = found.ends("1", "2")
    assert differ is True
    assert (step.side, step.attempts) == ("new", 1)
    assert measured.asked[0].within == 0.03
    assert [environment.label for environment in measured.asked[0].environments] == ["1", "2"]


def test_an_undecided_comparison_is_repeated_with_twice_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found, measured = judge(monkeypatch, UNDECIDED, UNDECIDED, SAME)
    step, differ = found.ends("1", "2")
    assert differ is False
    assert step.attempts == 3
    assert [options.budget for options in measured.asked] == [10, 20, 40]


def test_what_stays_undecided_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judge(monkeypatch, *[UNDECIDED] * 3, FASTER, *[UNDECIDED] * 3)
    assert found.ends("1", "2")[1] is None
    found.ends("1", "2")
    assert found.side("1", "1.5").side == "undecided"


def test_a_version_is_like_the_end_that_it_is_nearer_to(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judge(monkeypatch, FASTER, speedup(1.05, 1.04, 1.06), speedup(1.15, 1.14, 1.16))
    found.ends("1", "2")
    assert found.side("1", "1.4").side == "old"
    assert found.side("1", "1.6").side == "new"


def test_a_version_that_does_not_run_is_skipped_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judge(monkeypatch, FASTER, Failure("compile", "no kernel"))
    found.ends("1", "2")
    step = found.side("1", "1.5")
    assert step.side == "skipped"
    assert step.comparison.failure == Failure("compile", "no kernel")


def test_an_end_that_does_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judge(monkeypatch, Failure("compile", "no kernel"))
    with pytest.raises(IrbenchError, match="1 and 2 cannot be compared by speed: no kernel"):
        found.ends("1", "2")


def test_an_interrupted_run_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judge(monkeypatch, FASTER, stopped_by="interrupt")
    with pytest.raises(KeyboardInterrupt):
        found.ends("1", "2")
