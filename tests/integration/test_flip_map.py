"""``irbench tune --flip-map`` through the front door, on backends whose speed is scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import pytest
from fake_runs import ENOUGH
from front_door import Called, irbench, irbench_process
from processes import workers

import irbench as api

pytestmark = pytest.mark.usefixtures("known_backends")

ASKED = (
    "--backends", "fake-a,fake-b", "--batch", "4", "--threads", "1", "--streams", "1", "--instances", "1",
    "--optimize", "none", "--flip-map", *ENOUGH, "--format", "json",
    "--set", "fake-a.call_us=100", "--set", "fake-a.sample_us=25", "--set", "fake-b.call_us=190",
)  # fmt: skip
"""At batch 4 fake-b takes 190 us and fake-a 200 us; fake-a wins at smaller batches and loses more at larger ones."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def tuned(model: Path, results: Path) -> Called:
    return irbench("tune", model, *ASKED, "--results", results)


def flips(called: Called) -> dict[tuple[str, int], dict[str, Any]]:
    assert called.document["flips"], called.err
    return {(flip["condition"]["axis"], flip["condition"]["value"]): flip for flip in called.document["flips"]}


@pytest.mark.ci
def test_the_rival_wins_at_half_the_batch_and_loses_at_twice_of_it(tuned: Called):
    assert tuned.code == 0, tuned.err
    assert tuned.document["setting"]["backend"] == "fake-b"
    found = flips(tuned)
    assert found["batch", 2]["outcome"] == "flipped"
    assert found["batch", 2]["gain"]["value"] == pytest.approx(150 / 190, rel=1e-3)
    assert found["batch", 8]["outcome"] == "kept"
    assert found["batch", 8]["gain"]["value"] == pytest.approx(300 / 190, rel=1e-3)
    assert {flip["rival"]["backend"] for flip in found.values()} == {"fake-a"}


@pytest.mark.ci
def test_each_condition_is_a_stored_run_of_two_rows(tuned: Called, results: Path):
    for flip in tuned.document["flips"]:
        run = api.load(flip["run"], results=results)
        assert [row.backend for row in run.table.result.cells if row.id == flip["setting"]["row"]] == ["fake-b"]
        assert len(run.table.result.cells) == 2
        assert run.note.startswith(f"flip map of {tuned.document['confirmation_run']}")


@pytest.mark.ci
def test_the_run_beside_the_busy_neighbour_says_so_and_no_other(tuned: Called, results: Path):
    for (axis, _), flip in flips(tuned).items():
        shown = irbench("show", flip["run"], "--results", results)
        assert shown.code == 0, shown.err
        assert ("a process of irbench kept 1 processor" in shown.out) == (axis == "neighbour")


@pytest.mark.ci
def test_no_neighbour_is_left(tuned: Called):
    assert tuned.code == 0
    assert not workers()


@pytest.mark.ci
def test_the_run_of_a_condition_is_a_plan_but_for_that_of_the_neighbour(tuned: Called, results: Path):
    found = flips(tuned)
    plan = api.plan_from(found["batch", 2]["run"], results=results)
    assert set(plan["defaults"]["rows"]) == {found["batch", 2][side]["row"] for side in ("setting", "rival")}
    refused = irbench("plan", "from", found["neighbour", 1]["run"], "--results", results)
    assert refused.code == 2
    assert "--flip-map" in refused.err


@pytest.mark.slow
def test_where_the_setting_cannot_run_its_rival_wins(model: Path):
    called = irbench(
        "tune", model, *ASKED, "--set", "fake-b.fault=refuse", "--set", "fake-b.at=compile",
        "--set", "fake-b.when_batch=8",
    )  # fmt: skip
    found = flips(called)["batch", 8]
    assert (found["outcome"], found["gain"]) == ("flipped", None)
    assert "no such precision" in found["unable"][0]["message"]


@pytest.mark.slow
def test_an_interrupt_keeps_the_recommendation_and_what_was_measured(model: Path, own_home: Path):
    called = irbench_process(
        "tune", model, *ASKED, "--set", "fake-b.fault=interrupt", "--set", "fake-b.at=run:30",
        "--set", "fake-b.when_batch=2",
    )  # fmt: skip
    assert called.code == 130, called.err
    assert called.document["setting"]["backend"] == "fake-b"
    assert called.document["conclusion"] != "interrupted"
    assert called.document["is_flip_map_interrupted"]
    found = flips(called)
    assert found["neighbour", 1]["outcome"] == "kept"
    assert (found["batch", 2]["missing"], found["batch", 8]["missing"]) == ("interrupted", "interrupted")
    assert len(list((own_home / "results").glob("runs/*/*/run.json"))) == 4


@pytest.mark.slow
def test_in_python_flips_are_part_of_the_report(model: Path):
    found = api.tune(
        model, backends="fake-a,fake-b", batch=4, threads=1, streams=1, instances=1, optimize="none", flip_map=True,
        set={"fake-a": {"call_us": 100, "sample_us": 25}, "fake-b": {"call_us": 190}}, progress=None,
    )  # fmt: skip
    outcomes = {(flip.condition.axis, flip.condition.value): flip.outcome for flip in found.report.flips}
    assert outcomes["batch", 2] == "flipped"
    assert "Flip map: fake-a wins with batch 2: 1.27x" in str(found)
