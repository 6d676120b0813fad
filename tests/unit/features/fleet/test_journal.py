"""A journal goes on with what was begun, and with nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.journal import JobRecord, Journal, journal_to_write, read_journal
from irbench.features.fleet.messages import TableOutcome
from irbench.features.fleet.problems import TargetProblem

_PLAN: dict[str, Any] = {"models": ("a.onnx",), "matrix": [{"batch": [1, 8]}]}


RUN = "01".ljust(26, "A")
"""The id of a run."""


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
    journal.add(JobRecord(job="2", pool="removed", kind="measured", tables=(TableOutcome("t", RUN),)))
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
    done = JobRecord(job="0", pool="useful", kind="measured", target="useful", tables=(TableOutcome("t", RUN),))
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


@contextmanager
def written(root: Path, *, resume: bool = False) -> Iterator[Journal]:
    journal = journal_to_write(root, "f", _PLAN, 2, resume=resume)
    journal.begin()
    yield journal
    journal.close()


def events(journal: Journal) -> Iterator[None]:
    """Have a fleet measure, and go on after each event that a line is written for."""
    for job in range(3):
        journal.see(f"target-{job}", pool="p", processor="é")
        yield
        journal.begin_job(str(job), f"target-{job}")
        yield
        journal.add(JobRecord(job=str(job), pool="p", kind="measured" if job else "refused"))
        yield


def test_whoever_reads_while_a_fleet_measures_knows_all_that_has_happened(tmp_path: Path):
    with written(tmp_path) as journal:
        for _ in events(journal):
            assert read_journal(tmp_path, "f") == journal.document


def test_an_event_is_a_line_behind_those_that_are_there(tmp_path: Path):
    path = tmp_path / "fleets" / "f" / "journal.jsonl"
    with written(tmp_path) as journal:
        before = b""
        for _ in events(journal):
            after = path.read_bytes()
            assert (after.startswith(before), after.count(b"\n")) == (True, before.count(b"\n") + 1)
            before = after


def test_a_line_that_was_cut_short_has_not_happened_and_a_call_that_goes_on_leaves_nothing_of_it(tmp_path: Path):
    path = tmp_path / "fleets" / "f" / "journal.jsonl"
    with written(tmp_path) as journal:
        for _ in events(journal):
            pass
    whole = path.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    path.write_bytes(whole[:last])
    before = read_journal(tmp_path, "f")
    assert before is not None
    assert "2" not in before.jobs
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        assert read_journal(tmp_path, "f") == before
    with written(tmp_path, resume=True) as journal:
        journal.begin_job("3", "target-0")
        assert read_journal(tmp_path, "f") == journal.document
    assert path.read_bytes().count(b"\n") == 1


def test_what_a_full_disk_left_of_a_line_is_not_before_the_next_one(tmp_path: Path):
    with written(tmp_path) as journal:
        for number, _ in enumerate(events(journal)):
            with (tmp_path / "fleets" / "f" / "journal.jsonl").open("ab") as file:
                file.write(b'{"jobs": {' * number)
        assert read_journal(tmp_path, "f") == journal.document


@pytest.mark.parametrize("line", [b"{}", b"[]", b'{"jobs": {"0": {}}}', b"\xff", b"[" * 100_000])
def test_a_damaged_line_is_refused_by_the_name_of_the_file(tmp_path: Path, line: bytes):
    measured(tmp_path)
    path = tmp_path / "fleets" / "f" / "journal.jsonl"
    if line == b"{}":
        path.write_bytes(b"{}\n" + path.read_bytes())
    else:
        path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(IrbenchError, match=r"journal\.jsonl is damaged"):
        read_journal(tmp_path, "f")


def test_a_journal_of_a_newer_format_is_refused_whatever_its_lines_are(tmp_path: Path):
    measured(tmp_path)
    path = tmp_path / "fleets" / "f" / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2') + b'{"later": 1}\n[]\n')
    with pytest.raises(IrbenchError, match="newer irbench"):
        read_journal(tmp_path, "f")
