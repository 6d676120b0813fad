"""A fleet measures a plan on its own targets or a cluster's, whatever dies: nothing is lost, nothing measured twice."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import models
import pytest
from fake_runs import ENOUGH
from fleet_processes import Place, job_processes, nothing_is_left, waited_for
from front_door import irbench_process as irbench

from irbench.errors import ExitCode
from irbench.store.listing import list_runs

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]


@pytest.fixture
def place(tmp_path: Path, own_home: Path) -> Place:
    models.mlp(tmp_path)
    return Place(tmp_path)


def test_two_targets_share_a_plan_and_every_run_arrives(place: Place):
    called = irbench(*place.command("--format", "json"))
    assert called.code == ExitCode.OK, called.err
    place.require_each_table_once(called.document)
    assert len(called.document["rows"]) == 3
    assert {row["target"] for row in called.document["rows"]} <= {"left", "right"}
    assert all(row["cost_per_million"] for row in called.document["rows"])
    assert nothing_is_left()
    again = irbench(*place.command("--format", "json", "--resume"))
    place.require_each_table_once(again.document)
    assert irbench(*place.command()).code == ExitCode.USAGE
    status = irbench("fleet", "status", "--results", place.results)
    assert (status.code, "3 of 3" in status.out) == (ExitCode.OK, True)


def test_each_target_searches_for_its_best_setting_and_both_of_its_runs_arrive(place: Place):
    place.write_apart()
    tune = ("fleet", "tune", place.folder / "mlp.onnx", "--targets", place.targets, "--results", place.results)
    asked = ("--backends", "fake-a,fake-b", "--set", "fake-b.call_us=400", "--batch", "1,4", "--streams", "1")
    one = ("--threads", "1", "--instances", "1", "--optimize", "none")
    words = (*tune, *asked, *one, *ENOUGH, "--format", "json")
    called = irbench(*words)
    assert called.code == ExitCode.OK, called.err
    found = {row["target"]: row["tuned"] for row in called.document["rows"]}
    assert set(found) == {"left", "right"}
    assert {(tuned["setting"]["backend"], tuned["setting"]["batch"]) for tuned in found.values()} == {("fake-a", 4)}
    stored = {entry.run_id for entry in list_runs(place.results).entries}
    assert stored == {run for row in called.document["rows"] for run in (row["run"], row["tuned"]["search_run"])}
    assert all(row["fps"]["low"] <= row["fps"]["value"] for row in called.document["rows"])
    assert nothing_is_left()
    again = irbench(*words, "--resume")
    assert (again.code, again.document["rows"]) == (ExitCode.OK, called.document["rows"])
    assert {entry.run_id for entry in list_runs(place.results).entries} == stored
    status = irbench("fleet", "status", "--results", place.results)
    assert (status.code, "best of mlp:" in status.out) == (ExitCode.OK, True)


def test_each_target_finds_the_rate_of_requests_that_it_holds_and_its_run_arrives(place: Place):
    place.write_apart()
    serve = ("fleet", "serve", place.folder / "mlp.onnx", "--targets", place.targets, "--results", place.results)
    calls = ("--backends", "fake-a", "--set", "fake-a.call_us=5000", "--threads", "1")
    words = (*serve, *calls, "--slo", "p90<=20ms", "--for", "20s", "--format", "json")
    called = irbench(*words)
    assert called.code == ExitCode.OK, called.err
    rows = called.document["rows"]
    assert {row["target"] for row in rows} == {"left", "right"}
    for row in rows:
        passes, fails = row["limit"]["passes_per_s"], row["limit"]["fails_per_s"]
        assert 0.6 * 200 < passes < fails < 200  # of an M/D/1 queue whose calls take 5 ms
        assert row["cost_per_million"] == pytest.approx(0.5 / 3600 / passes * 1e6)
    stored = {entry.run_id for entry in list_runs(place.results).entries}
    assert stored == {row["run"] for row in rows}
    assert "holds" in irbench("show", rows[0]["run"], "--results", place.results).out
    assert nothing_is_left()
    again = irbench(*words, "--resume")
    assert (again.code, again.document["rows"]) == (ExitCode.OK, rows)
    assert {entry.run_id for entry in list_runs(place.results).entries} == stored
    status = irbench("fleet", "status", "--results", place.results)
    assert (status.code, "best of mlp" in status.out) == (ExitCode.OK, True)


def test_what_no_target_can_be_asked_for_is_one_line_before_any_is_started(place: Place):
    serve = ("fleet", "serve", place.folder / "mlp.onnx", "--targets", place.targets, "--results", place.results)
    for asked, named in (((), "--slo"), (("--slo", "p99<=50ms", "--batch", "1", "--batch-wait", "5ms"), "--batch 4,8")):
        called = irbench(*serve, *asked)
        assert (called.code, named in called.err) == (ExitCode.USAGE, True), called.err
        assert "Traceback" not in called.err
    assert not (place.results / "fleets").exists()


def test_a_worker_that_is_killed_takes_its_job_with_it_and_the_job_is_done_again(place: Place):
    with place.begun() as call:
        job = job_processes(call.pid)[0]
        worker = job.parent()
        assert worker is not None
        worker.kill()
        worker.wait()
        job.wait()
        _, err = call.communicate()
    assert call.returncode == ExitCode.OK, err
    status = irbench("fleet", "status", "--format", "json", "--results", place.results)
    place.require_each_table_once(status.document)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_coordinator_that_ends_takes_everything_with_it_and_is_resumed(place: Place, sent: signal.Signals):
    with place.begun() as call:
        os.kill(call.pid, sent)
        _, err = call.communicate()
    assert call.returncode == (ExitCode.INTERRUPTED if sent == signal.SIGINT else -sent)
    if sent == signal.SIGINT:
        words = shlex.join(("irbench", *place.command(), "--resume"))
        assert f"interrupted: {words} goes on" in err
    assert nothing_is_left()
    called = irbench(*place.command("--resume", "--format", "json"))
    assert called.code == ExitCode.OK, called.err
    place.require_each_table_once(called.document)


def test_a_target_with_other_versions_is_refused_and_named(place: Place):
    place.write_targets('[requires]\nnumpy = "<1"\n')
    called = irbench(*place.command("--format", "json"))
    assert called.code == ExitCode.USAGE
    assert all(target["problem"]["subject"] == "numpy" for target in called.document["targets"])
    assert {table["kind"] for table in called.document["tables"]} == {"no-target"}


def with_room(folder: Path, blocks: int) -> Path:
    """Write a Python that can write no file of more than some blocks of 512 bytes, as on a full disk."""
    python = folder / "python-without-room"
    python.write_text(f'#!/bin/sh\nulimit -f {blocks}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    return python


def test_a_target_whose_disk_is_full_leaves_its_jobs_to_the_others_and_says_why(place: Place):
    text = place.targets.read_text()
    place.targets.write_text(text.replace('name = "left"', f'name = "left"\npython = "{with_room(place.folder, 1)}"'))
    called = irbench(*place.command("--format", "json"))
    assert called.code == ExitCode.FAILED_CELL, called.err
    place.require_each_table_once(called.document)
    assert {table["target"] for table in called.document["tables"]} == {"right"}
    problems = {target["name"]: target["problem"] for target in called.document["targets"]}
    assert problems["right"] is None
    assert (problems["left"]["code"], "too large" in problems["left"]["said"]) == ("unwritable", True)
    again = irbench(*place.command("--format", "json", "--resume"))
    assert again.code == ExitCode.OK, again.err
    place.require_each_table_once(again.document)


def test_a_full_disk_of_this_machine_ends_the_call_in_a_line_and_what_was_measured_is_taken_in_later(place: Place):
    python = with_room(place.folder, 8)
    with dask_cluster(1) as (address, _):
        words = ("fleet", "run", place.folder / "plan.toml", "--scheduler", address, "--results", place.results)
        call = subprocess.run((python, "-m", "irbench", *words), capture_output=True, text=True, check=False)
        *_, error, hint = call.stderr.splitlines()
        assert (call.returncode, "too large" in error, "--resume" in hint) == (ExitCode.USAGE, True, True)
        assert not list_runs(place.results).entries
        assert list(Path(os.environ["IRBENCH_HOME"]).glob("fleet/jobs/*/runs.tar.gz"))
        called = irbench(*words, "--resume", "--format", "json")
    assert called.code == ExitCode.OK, called.err
    place.require_each_table_once(called.document)


def test_two_targets_on_one_machine_are_one_too_many_unless_that_is_meant(place: Place):
    place.targets.write_text(place.targets.read_text().replace("same-machine = true", ""))
    called = irbench(*place.command())
    assert (called.code, "same-machine" in called.err) == (ExitCode.USAGE, True)


@contextmanager
def dask_cluster(workers: int) -> Iterator[tuple[str, int]]:
    """Yield the address of a cluster as users start one, and its process."""
    script = Path(__file__).parents[1] / "dask_cluster.py"
    command = (sys.executable, str(script), str(workers))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        yield cluster.stdout.readline().strip(), cluster.pid
        assert cluster.stdin is not None
        cluster.stdin.close()


def test_the_workers_of_a_cluster_that_runs_measure_as_well(place: Place):
    with dask_cluster(1) as (address, _):
        arguments = ("fleet", "run", place.folder / "plan.toml", "--scheduler", address, "--results", place.results)
        called = irbench(*arguments, "--format", "json")
    assert called.code == ExitCode.OK, called.err
    place.require_each_table_once(called.document)
    (target,) = called.document["targets"]
    assert target["name"] == "0"


def test_one_of_several_workers_on_a_machine_measures_and_its_job_is_done_once_although_it_is_killed(place: Place):
    plan = str(place.folder / "plan.toml")
    with dask_cluster(3) as (address, cluster):
        words = ("fleet", "run", plan, "--scheduler", address, "--results", str(place.results), "--patience", "5m")
        with subprocess.Popen(
            (sys.executable, "-m", "irbench", *words, "--only", "batch=1"), stderr=subprocess.PIPE, text=True
        ) as call:
            worker = waited_for(lambda: job_processes(cluster))[0].parent()
            assert worker is not None
            worker.kill()
            _, err = call.communicate()
    assert call.returncode == ExitCode.FAILED_CELL, err
    (entry,) = list_runs(place.results).entries
    assert entry.complete
    status = irbench("fleet", "status", "--format", "json", "--results", place.results).document
    assert sorted(bool(target["problem"]) for target in status["targets"]) == [False, True, True]


def test_a_scheduler_that_is_not_there_is_one_line(place: Place):
    plan = place.folder / "plan.toml"
    called = irbench("fleet", "run", plan, "--scheduler", "tcp://127.0.0.1:1", "--results", place.results)
    assert called.code == ExitCode.USAGE
    assert "127.0.0.1:1" in called.err.splitlines()[-2]
    assert not list_runs(place.results).entries
