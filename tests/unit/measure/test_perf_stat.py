"""perf attached to a process, switched on and off through its FIFO."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fake_perf
import pytest

from irbench.measure import perf_stat
from irbench.measure.counter_support import counting_for
from irbench.measure.perf_stat import CountingFailed, PerfStat, TopLev
from irbench.perf_events.counter_plan import CounterPlan, Counting
from irbench.perf_events.perf_output import read_intervals, read_perf

PLAN = CounterPlan(("software",))
SCRIPTED = Counting(PLAN, "perf", "6.8.12", ("task-clock", "minor-faults"))
BUSY = "import sys\nfor line in sys.stdin:\n    sum(range(200_000)); print(line, flush=True)\n"


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    """Return a process that computes for a moment whenever it is given a line."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=-1, stdout=-1, text=True) as process:
        yield process
        process.kill()


def work(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.readline()


def test_it_counts_between_the_two_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = fake_perf.install(tmp_path / "perf", {}, monkeypatch)
    with PerfStat(SCRIPTED, os.getpid(), tmp_path / "files") as perf:
        perf.enable()
        perf.disable()
        reading = read_perf(perf.finish())
    assert reading.events["minor-faults"].value == 480
    assert f"-p {os.getpid()} -D -1 --control fifo:" in calls.read_text()


def test_counters_that_were_never_enabled_have_no_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_perf.install(tmp_path / "perf", {}, monkeypatch)
    with PerfStat(SCRIPTED, os.getpid(), tmp_path / "files") as perf:
        assert read_perf(perf.finish()).events["task-clock"].value is None


def test_a_perf_that_cannot_attach_says_why_without_its_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = "Problems finding threads of monitor\n\n Usage: perf stat [<options>] [<command>]"
    fake_perf.install(tmp_path / "perf", {"dies": said}, monkeypatch)
    with pytest.raises(CountingFailed, match=r"^Problems finding threads of monitor$"):
        PerfStat(SCRIPTED, os.getpid(), tmp_path / "files")


def test_the_last_step_is_written_although_perf_is_still_at_work_when_it_is_told_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake_perf.install(tmp_path / "perf", {"busy_turns": 3_000_000}, monkeypatch)
    with PerfStat(SCRIPTED, os.getpid(), tmp_path / "files", interval_ms=100) as perf:
        perf.enable()
        perf.disable()
        steps = read_intervals(perf.finish())
    assert [reading.events["minor-faults"].value for _, reading in steps] == [480, 480]


def test_it_leaves_no_process_behind_where_something_else_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_perf.install(tmp_path / "perf", {}, monkeypatch)
    perf = PerfStat(SCRIPTED, os.getpid(), tmp_path / "files")
    with contextlib.suppress(KeyError), perf:
        raise KeyError
    assert perf._process.returncode is not None


def test_toplev_counts_while_its_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_perf.install(tmp_path / "perf", {}, monkeypatch, toplev=True)
    with TopLev("toplev", 2, os.getpid(), tmp_path / "files") as toplev:
        assert toplev.nodes()["Frontend_Bound.Fetch_Latency"] == pytest.approx(0.125)


def test_a_toplev_that_tells_no_node_or_fails_at_its_end_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_perf.install(tmp_path / "perf", {}, monkeypatch, toplev=True)
    monkeypatch.setattr(perf_stat, "read_toplev", lambda _: {})
    with TopLev("toplev", 2, os.getpid(), tmp_path / "none") as toplev, pytest.raises(CountingFailed, match="0 nodes"):
        toplev.nodes()
    monkeypatch.undo()
    fake_perf.install(tmp_path / "perf", {"toplev_code": 3}, monkeypatch, toplev=True)
    with TopLev("toplev", 2, os.getpid(), tmp_path / "code") as toplev, pytest.raises(CountingFailed, match="code 3"):
        toplev.nodes()


def test_of_a_toplev_that_fails_the_line_of_the_exception_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = "Traceback (most recent call last):\n  File toplev.py\nImportError: no ocperf\n"
    fake_perf.install(tmp_path / "perf", {"toplev_says": said}, monkeypatch, toplev=True)
    with pytest.raises(CountingFailed, match=r"^ImportError: no ocperf$") as failed:
        TopLev("toplev", 2, os.getpid(), tmp_path / "files")
    assert "Traceback" in failed.value.messages


def test_a_toplev_that_ends_at_once_is_a_failure(tmp_path: Path):
    with pytest.raises(CountingFailed, match="did not begin"):
        TopLev("true", 2, os.getpid(), tmp_path / "files")
    with pytest.raises(CountingFailed, match="cannot be started"):
        TopLev("no-such-program", 2, os.getpid(), tmp_path / "more")


@pytest.fixture
def real() -> Counting:
    """Return the counting of this machine's own perf."""
    counting = counting_for(PLAN)
    if not counting.events:
        pytest.skip("there is no perf, or it may not count")
    return counting


def test_the_real_perf_counts_another_process_and_nothing_before_or_after(
    real: Counting, busy: subprocess.Popen[str], tmp_path: Path
):
    work(busy)
    with PerfStat(real, busy.pid, tmp_path / "idle") as perf:
        work(busy)
        perf.enable()
        perf.disable()
        work(busy)
        idle = read_perf(perf.finish()).events["task-clock"].value
    with PerfStat(real, busy.pid, tmp_path / "busy") as perf:
        perf.enable()
        work(busy)
        perf.disable()
        counted = read_perf(perf.finish()).events["task-clock"].value
    assert counted is not None
    assert (idle or 0.0) < counted / 2


def test_the_real_perf_tells_counts_in_steps(real: Counting, busy: subprocess.Popen[str], tmp_path: Path):
    with PerfStat(real, busy.pid, tmp_path / "steps", interval_ms=10) as perf:
        perf.enable()
        for _ in range(5):
            work(busy)
        perf.disable()
        steps = read_intervals(perf.finish())
    ends_s = [end_s for end_s, _ in steps]
    assert ends_s == sorted(ends_s)
    assert sum(reading.events["task-clock"].value or 0.0 for _, reading in steps) > 0


def test_the_real_perf_tells_the_count_of_a_phase_that_is_shorter_than_a_step(
    real: Counting, busy: subprocess.Popen[str], tmp_path: Path
):
    for turn in range(10):
        with PerfStat(real, busy.pid, tmp_path / str(turn), interval_ms=10_000) as perf:
            perf.enable()
            work(busy)
            perf.disable()
            (step,) = [reading for _, reading in read_intervals(perf.finish()) if reading.events["task-clock"].value]
            assert step.events["task-clock"].value
