"""A journal goes on with what was begun, and with nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.journal import JobRecord, journal_to_write, read_journal
from irbench.features.fleet.messages import TableOutcome
from irbench.features.fleet.problems import TargetProblem

_PLAN: dict[str, Any] = {"models": ("a.onnx",), "matrix": [{"batch": [1, 8]}]}


def measured(root: Path) -> None:
    """Have a fleet measure one job."""
    journal = journal_to_write(root, "f", _PLAN, 2, resume=False)
    journal.begin()
    journal.add(JobRecord(job="0", pool="p", kind="measured"))
    journal.close()


def test_a_fleet_goes_on_where_it_is_asked_to(tmp_path: Path):
    measured(tmp_path)
    again = journal_to_write(tmp_path, "f", _PLAN, 2, resume=True)
    assert again.document == read_journal(tmp_path, "f")
    with pytest.raises(IrbenchError):
        journal_to_write(tmp_path, "f", _PLAN, 2, resume=False)


def test_another_plan_does_not_go_into_the_same_journal(tmp_path: Path):
    measured(tmp_path)
    with pytest.raises(IrbenchError, match="matrix") as refusal:
        journal_to_write(tmp_path, "f", {**_PLAN, "matrix": [{"batch": [1, 16]}]}, 2, resume=True)
    assert (refusal.value.exit_code, "--name" in refusal.value.hint) == (ExitCode.USAGE, True)


def test_the_target_that_began_a_job_is_known_until_the_job_is_done(tmp_path: Path):
    journal = journal_to_write(tmp_path, "f", _PLAN, 2, resume=False)
    journal.begin()
    journal.begin_job("0", "a")
    journal.begin_job("1", "a")
    journal.begin_job("1", "b")
    journal.add(JobRecord(job="0", pool="p", kind="measured"))
    journal.add(JobRecord(job="1", pool="p", kind="refused", target="b"))
    journal.close()
    assert journal_to_write(tmp_path, "f", _PLAN, 2, resume=True).document.begun == {"1": "b"}


def test_what_was_wrong_in_an_earlier_call_is_not_wrong_with_the_next_one(tmp_path: Path):
    journal = journal_to_write(tmp_path, "f", _PLAN, 2, resume=False)
    journal.begin()
    journal.see("a", pool="a", price_per_hour=1.0, problem=TargetProblem(code="unwritable"))
    journal.see("removed", pool="removed", problem=TargetProblem(code="cut"))
    journal.add(JobRecord(job="0", pool="a", kind="refused"))
    journal.add(JobRecord(job="1", pool="removed", kind="no-target"))
    journal.add(JobRecord(job="2", pool="removed", kind="measured", tables=(TableOutcome("t", "01A"),)))
    journal.ask({"a": 2.0}, {"a"})
    journal.close()
    known = read_journal(tmp_path, "f")
    assert known is not None
    assert {target.problem for target in known.targets.values()} == {None}
    assert known.targets["a"].price_per_hour == 2.0
    assert set(known.jobs) == {"0", "2"}


def test_a_target_that_is_not_asked_any_more_is_kept_only_with_its_runs(tmp_path: Path):
    journal = journal_to_write(tmp_path, "f", _PLAN, 2, resume=False)
    journal.begin()
    for name in ("asked", "useful", "useless"):
        journal.see(name, pool=name)
    done = JobRecord(job="0", pool="useful", kind="measured", target="useful", tables=(TableOutcome("t", "01A"),))
    journal.add(done)
    journal.ask({"asked": None}, {"asked"})
    journal.close()
    known = read_journal(tmp_path, "f")
    assert known is not None
    assert (set(known.targets), known.pools) == ({"asked", "useful"}, ("asked",))


def test_a_call_that_nothing_came_of_leaves_nothing(tmp_path: Path):
    journal = journal_to_write(tmp_path, "f", _PLAN, 2, resume=False)
    journal.begin()
    journal.ask({"a": None}, {"a"})
    journal.close()
    assert not list(tmp_path.iterdir())
