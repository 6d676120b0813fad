"""``irbench run --resume``: a run that ended early goes on after its last launch, or says what has changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import models
import pytest
from fake_backend import FakeBackend
from fake_environments import make_environment
from fake_runs import ENOUGH, FASTEST
from front_door import irbench, irbench_process
from stored_runs import measured

import irbench as api
from irbench.core.result import RunDocument
from irbench.stats.rederive import rederive
from irbench.store.runs import Store

pytestmark = pytest.mark.usefixtures("known_backends")

BACKENDS = ["fake-a", "fake-b"]
SPENT_S = 0.01
"""A budget that the first launch uses up: a run that goes on ends at once."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


@pytest.fixture
def store(own_home: Path) -> Store:
    return Store(own_home / "results")


def after_launch(number: int) -> Callable[[api.Progress], None]:
    def stop(progress: api.Progress) -> None:
        if progress.interim is not None and progress.interim.launches == number:
            raise KeyboardInterrupt

    return stop


def interrupted(model: Path, **options: Any) -> str:
    """Measure a launch, and return the id of the run and what the interrupt said."""
    with pytest.raises(api.Interrupted) as caught:
        api.run(model, **{"backends": BACKENDS, "quick": True, "budget": "60m", "progress": after_launch(1), **options})
    run = caught.value.result
    assert isinstance(run, api.Run)
    if run.document.is_resumable:
        assert f"irbench.resume({run.id!r}) continues it" in str(caught.value)
    return run.id


def altered(store: Store, run: str, **changes: Any) -> RunDocument:
    folder = store.find(run)
    document = store.load(folder)
    return store.reopen(folder, document).commit(replace(document, **changes))


@pytest.mark.ci
def test_an_interrupted_run_goes_on_with_its_settings_and_measures_nothing_twice(model: Path, store: Store) -> None:
    run = interrupted(model, backends="fake-a", name="before", batch=[1, 8], apart=True, baseline="fake-a", seed=7)
    before = store.load(store.find(run))
    launches: list[tuple[str, int]] = []

    def follow(progress: api.Progress) -> None:
        if progress.interim is not None:
            launches.append((progress.table, progress.interim.launches))

    found = api.resume(progress=follow)
    assert launches == [("mlp batch 1", 2), ("mlp batch 1", 3), *(("mlp batch 8", number) for number in (1, 2, 3))]
    assert (found.id, found.name, found.document.complete) == (run, "before", True)
    assert found.document.plan == before.plan
    assert {name: found.document.launches[name] for name in before.launches} == dict(before.launches)
    assert [table.result.launches for table in found.tables] == [3, 3]
    assert rederive(found.document, store.launches(found.folder)) == found.document
    assert len(store.listing().entries) == 1


@pytest.mark.ci
def test_a_run_that_was_killed_goes_on(model: Path, store: Store) -> None:
    command = [sys.executable, "-m", "irbench", "run", str(model), "--backends", "fake-a", "--quick", *ENOUGH]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert any("launch 1 done" in line for line in run.stderr)
        run.kill()
    (entry,) = store.listing().entries
    before = store.load(Path(entry.folder))
    assert (before.complete, next(iter(before.launches))) == (False, "launch-00-00.bin")
    called = irbench_process("run", "--resume", "--format", "json")
    assert called.code == 0, called.err
    assert f"continuing {entry.run_id} after {len(before.launches)} launch" in called.err
    assert called.document["run_id"] == entry.run_id
    assert {name: called.document["launches"][name] for name in before.launches} == dict(before.launches)
    assert len(called.document["launches"]) == 3


@pytest.mark.ci
def test_the_interrupt_the_table_and_the_listing_say_how_a_run_is_continued(model: Path) -> None:
    fault = ("--set", "fake-b.fault=interrupt", "--set", "fake-b.at=relaunch")
    called = irbench_process(
        "run", model, "--backends", "fake-a,fake-b", "--quick", *ENOUGH, "--format", "json", *fault
    )
    assert called.code == 130
    command = f"irbench run --resume {called.document['run_id']}"
    assert called.err.rstrip().endswith(f"interrupted: {command} continues it")
    assert f"incomplete: {command} continues it" in irbench("show").err
    listed = irbench("results")
    assert listed.err.rstrip().endswith(f"is incomplete: {command} continues it")
    assert irbench("results", "--format", "json").document["runs"][0]["resumable"] is True
    assert "continues it" not in irbench("results", "--format", "csv").err


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--resume",), "No unfinished run is stored", "irbench results"),
        (("--resume", "nothing"), "There is no run 'nothing'", "irbench results"),
        (("net.onnx", "--resume"), "--resume and a model cannot be combined", "Leave out either"),
        (("--resume", "--batch", "8", "--quick"), "--resume and --batch, --quick cannot be combined", "Leave out"),
        (("--resume", "--dry-run"), "--resume and --dry-run cannot be combined", "Leave out either"),
        (("net.onnx", "--allow-own-code"), "--allow-own-code applies to --resume only", "Leave it out"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_what_to_do(arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("run", *arguments)
    assert called.code == 2
    assert said in called.err
    assert hint in called.err


@pytest.mark.ci
def test_a_finished_run_is_not_continued(model: Path) -> None:
    run = irbench("run", model, "--backends", "fake-a", "--format", "json", *FASTEST).document["run_id"]
    called = irbench("run", "--resume", run)
    assert (called.code, f"{run} is complete" in called.err) == (2, True)
    assert f"irbench plan from {run}" in called.err
    assert "No unfinished run" in irbench("run", "--resume").err


@pytest.mark.parametrize(
    ("is_complete", "plan", "hint"),
    [
        (True, {"training": {"batch": [8]}}, "Measure it again: irbench train\n"),
        (True, {"soak": {"s": 9}, "command": ["irbench", "soak", "a b.onnx"]}, "it again: irbench soak 'a b.onnx'\n"),
        (True, {"models": ["net"], "asked": {}, "cold": True}, "irbench plan from"),
        (True, {"models": ["net"], "asked": {}, "data_in_memory": 1}, "Save them as .npz files"),
        (True, {"is_part_of": "search"}, "Search again: irbench tune;"),
        (False, {"training": {"batch": [8]}, "is_part_of": "search"}, "Begin it again: irbench tune-training\n"),
        (False, {"is_part_of": "search"}, "Begin it again: irbench tune\n"),
        (False, {"corun": {"neighbours": []}}, "Begin it again: irbench corun\n"),
    ],
)
def test_what_is_not_continued_names_the_command_that_measures_it_again(
    store: Store, is_complete: bool, plan: dict[str, Any], hint: str
) -> None:
    writer = measured(store.root)
    writer.commit(replace(writer.document, plan=plan, complete=is_complete))
    writer.release()
    called = irbench("run", "--resume", writer.document.run_id)
    assert called.code == 2
    assert hint in called.err


@pytest.mark.ci
def test_what_has_changed_since_is_named_and_nothing_is_measured(model: Path, store: Store) -> None:
    run = interrupted(model)
    before = store.load(store.find(run))
    environment = {**before.environment, "distributions": {**before.environment["distributions"], "numpy": "0.1"}}
    altered(store, run, environment=environment)
    called = irbench("run", "--resume")
    assert called.code == 2
    assert f"{run} cannot be continued, since something has changed: numpy was 0.1 and is" in called.err
    altered(
        store,
        run,
        environment=before.environment,
        plan=replace(before.plan, cpus=(4096,)),
    )
    assert "processor" in irbench("run", "--resume", run).err  # there is no processor of this number
    altered(store, run, plan=before.plan)
    model.write_bytes(models.mlp(model.parent, name="other").path.read_bytes() + b"\x32\x01x")
    called = irbench("run", "--resume", run)
    assert called.code == 2
    assert "mlp (onnx) has changed" in called.err
    assert store.load(store.find(run)) == before


@pytest.mark.ci
def test_cold_starts_and_tables_of_sweeps_are_not_continued(model: Path, store: Store) -> None:
    plan = {
        "name": "night",
        "defaults": {"models": str(model), "backends": "fake-a", "quick": True},
        "matrix": [{"batch": [1]}],
    }
    with pytest.raises(api.Interrupted) as caught:
        api.sweep(plan, progress=after_launch(1))
    (table,) = caught.value.result.overview.tables  # type: ignore[attr-defined]
    called = irbench("run", "--resume", table.run)
    assert (called.code, "is a table of the sweep night" in called.err) == (2, True)
    assert "No unfinished run" in irbench("run", "--resume").err
    shutil.rmtree(store.root / "sweeps")
    altered(store, table.run, plan=replace(store.load(store.find(table.run)).plan, cold=True))
    assert "measures cold starts" in irbench("run", "--resume", table.run).err


@pytest.mark.ci
def test_own_code_of_a_stored_plan_runs_only_where_it_is_allowed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop.py").write_text("def call(inputs):\n    sum(range(2000))\n")
    monkeypatch.chdir(tmp_path)
    run = interrupted(model, cells={"mine": "loop.py:call"}, backends="none", budget=SPENT_S)
    called = irbench("run", "--resume")
    assert called.code == 2
    assert "mine=loop.py:call" in called.err
    assert "--allow-own-code" in called.err
    found = irbench("run", "--resume", "--allow-own-code", "--format", "json")
    assert (found.code, found.document["run_id"], found.document["complete"]) == (0, run, True), found.err


@pytest.mark.ci
def test_an_option_of_a_stored_plan_that_may_name_a_file_is_used_only_where_it_is_allowed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(model, backends="fake-a", set={"fake-a": {"precision": "fp32"}}, budget=SPENT_S)
    describe = FakeBackend.describe
    monkeypatch.setattr(FakeBackend, "describe", lambda backend: replace(describe(backend), files=None))
    called = irbench("run", "--resume")
    assert (called.code, "fake-a.precision=fp32" in called.err, "--allow-own-code" in called.err) == (2, True, True)
    assert irbench("run", "--resume", "--allow-own-code").code == 0


@pytest.mark.ci
def test_a_row_goes_on_with_the_form_of_its_graph_that_its_runtime_took(model: Path) -> None:
    run = interrupted(model, backends="fake-a", set={"fake-a": {"fault": "refuse-bound"}}, budget=SPENT_S)
    found = api.resume(progress=None)
    assert (found.id, found.document.complete) == (run, True)
    assert [row.dynamic for row in found.table.result.cells] == [True]
    assert [note.code for note in found.table.result.notes].count("graph-refused") == 1


@pytest.mark.ci
def test_a_comparison_of_two_versions_goes_on(model: Path, tmp_path: Path) -> None:
    versions = [make_environment(tmp_path / name, name, {"call_us": "300"}) for name in ("1.0", "2.0")]
    asked = {"a": versions[0], "b": versions[1], "backend": "fake-versioned", "quick": True, "budget": SPENT_S}
    with pytest.raises(api.Interrupted) as caught:
        api.ab(model, progress=after_launch(1), **asked)  # type: ignore[arg-type]
    refused = irbench("run", "--resume")
    assert (refused.code, str(versions[0]) in refused.err) == (2, True)
    found = api.resume(allow_own_code=True, progress=None)
    assert found.id == caught.value.result.id  # type: ignore[attr-defined]
    assert (found.document.complete, found.table.result.launches) == (True, 1)
    assert {row.environment for row in found.rows} == {"1.0", "2.0"}
