"""A runtime that crashes on the graph of a pass ends neither the optimisation nor the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import models
import pytest

from irbench.core.graph_record import OptimizerActivity, PassObstacle
from irbench.errors import IrbenchError
from irbench.optimizer import Recipe, optimize, optimized_bundles
from irbench.optimizer.job import OptimizationJob
from irbench.optimizer.pipeline import run_job
from irbench.spec import Bundle
from irbench.worker import WorkerDied


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", models.logical_inputs(artifact), (artifact,))


def silent(_activity: OptimizerActivity) -> None: ...


def _crashing(monkeypatch: pytest.MonkeyPatch, crashes: Callable[[OptimizationJob, OptimizerActivity], bool]) -> None:
    """Run the work here, in a process that a signal ends where ``crashes`` says so."""

    def call(target, job, *, say, deadline_s, confinement, returns, says):
        def hear(activity):
            say(activity)
            if crashes(job, activity):
                raise WorkerDied("It crashed with SIGSEGV.", crash="SIGSEGV")

        return run_job(job, hear)

    monkeypatch.setattr(optimized_bundles, "call_in_worker", call)


def test_a_pass_that_makes_the_runtime_crash_is_left_out(bundle, monkeypatch):
    _crashing(monkeypatch, lambda job, activity: activity.name == "fake-harmless")
    steps = optimize(bundle, {}, Recipe("custom", ("fake-harmless", "fake-later")), silent).lineage.steps
    assert [(step.name, step.modified) for step in steps[-2:]] == [("fake-harmless", False), ("fake-later", True)]
    assert steps[-2].obstacle == PassObstacle("crashed", 20, "SIGSEGV")


def test_a_graph_without_a_pass_that_crashed_is_made_again_and_replaced_by_one_with_it(bundle, monkeypatch):
    attempts, recipe = [], Recipe("custom", ("fake-harmless", "fake-later"))

    def crashes(job, activity):
        attempts.append(activity)
        return activity.name == "fake-harmless" and fails

    def is_applied():
        attempts.clear()
        return "fake-harmless" in optimize(bundle, {}, recipe, silent).artifact.passes

    _crashing(monkeypatch, crashes)
    fails = True
    assert [is_applied() for _ in range(2)] == [False, False]
    fails = False
    assert is_applied()
    assert attempts
    assert is_applied()
    assert not attempts


def test_a_crash_in_the_last_check_is_traced_to_its_pass(bundle, monkeypatch):
    def crashes(job, activity):
        guilty = "fake-harmless" not in job.left_out
        stage = "pass" if job.checks_all_after_each_pass else "check"
        return guilty and activity.code == stage and activity.name in ("", "fake-harmless")

    _crashing(monkeypatch, crashes)
    steps = optimize(bundle, {}, Recipe("custom", ("fake-later", "fake-harmless")), silent).lineage.steps
    assert [step.name for step in steps if step.obstacle is not None] == ["fake-harmless"]


def test_no_pass_is_left_out_for_a_process_that_was_killed(bundle, monkeypatch):
    def die(target, job, *, say, deadline_s, confinement, returns, says):
        say(OptimizerActivity("pass", "fake-harmless"))
        raise WorkerDied("It was killed by SIGKILL.")

    monkeypatch.setattr(optimized_bundles, "call_in_worker", die)
    with pytest.raises(IrbenchError, match="failed at fake-harmless"):
        optimize(bundle, {}, Recipe("custom", ("fake-harmless",)), silent)
