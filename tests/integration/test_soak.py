"""``irbench soak`` through its front door: a scripted backend that leaks, one that does not, and one that breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import pytest
from front_door import Called, irbench, irbench_process

import irbench as public
from irbench.errors import IrbenchError

pytestmark = pytest.mark.usefixtures("known_backends")

LEAK_BYTES = 3000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def soak(model: Path, backends: str, *arguments: object) -> Called:
    return irbench("soak", model, "--backends", backends, "--calls", 6_000, "--format", "json", *arguments)


def leaking(backend: str, size: int = LEAK_BYTES) -> tuple[str, ...]:
    return ("--set", f"{backend}.fault=leak:{size}", "--set", f"{backend}.at=run")


@pytest.fixture(scope="module")
def soaked(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """A soak of one backend that leaks beside one that does not, and where it was stored."""
    results = tmp_path_factory.mktemp("results")
    return soak(model, "fake-a,fake-b", *leaking("fake-b"), "--results", results), results


def row(called: Called, backend: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [row for row in called.document["soaks"][0]["rows"] if row["backend"] == backend]
    return found


def test_a_leak_is_found_with_its_size_and_nothing_is_said_of_the_other_row(soaked: tuple[Called, Path]) -> None:
    called, _ = soaked
    assert called.code == 1, called.err
    leak, steady = row(called, "fake-b")["memory"], row(called, "fake-a")["memory"]
    assert (leak["verdict"], steady["verdict"]) == ("grows", "steady")
    assert leak["bytes_per_call"] == pytest.approx(LEAK_BYTES, rel=0.2)
    assert leak["low"] <= leak["bytes_per_call"] <= leak["high"]
    assert steady["high"] < 1000


def test_an_output_never_overwrites_the_model(model: Path) -> None:
    before = model.read_bytes()
    called = soak(model, "fake-a", "-o", model)
    assert called.code == 2
    assert "would overwrite the model" in called.err
    assert model.read_bytes() == before


def test_the_series_of_a_row_are_there_block_by_block(soaked: tuple[Called, Path]) -> None:
    found = row(soaked[0], "fake-a")
    series = found["series"]
    assert len({len(values) for values in series.values()}) == 1
    assert series["calls"] == sorted(series["calls"])
    assert found["calls"] == series["calls"][-1] >= 6_000
    assert found["p50_ms"] == pytest.approx(0.3, rel=1e-3)
    assert found["drift"]["value"] == pytest.approx(0, abs=1e-3)


def test_show_and_results_know_the_soak(soaked: tuple[Called, Path]) -> None:
    called, results = soaked
    run_id = called.document["run_id"]
    assert irbench("show", run_id, "--results", results, "--format", "json").document == called.document
    table = irbench("show", run_id, "--results", results).out
    assert "memory grows: fake-b" in table
    assert "fake-b: memory grows" in irbench("results", "--results", results).out
    assert "| fake-b |" in irbench("show", run_id, "--results", results, "--format", "md").out
    header, *rows = irbench("show", run_id, "--results", results, "--format", "csv").out.splitlines()
    assert "memory_growth_bytes_per_call" in header.split(",")
    assert len(rows) == 2


@pytest.mark.ci
def test_the_growth_that_matters_can_be_set(model: Path) -> None:
    called = soak(model, "fake-a", *leaking("fake-a"), "--growth-limit", 100_000)
    assert called.code == 0, called.err
    assert row(called, "fake-a")["memory"]["verdict"] == "steady"


@pytest.mark.ci
def test_too_few_calls_decide_nothing_which_matters_only_to_the_strict(model: Path) -> None:
    asked = ("soak", model, "--backends", "fake-a", "--calls", 10)
    found = irbench(*asked)
    assert found.code == 0, found.err
    assert "undecided" in found.out
    assert irbench(*asked, "--strict").code == 4


@pytest.mark.ci
def test_a_row_that_dies_keeps_what_it_showed(model: Path) -> None:
    called = soak(
        model, "fake-a,fake-b", "--set", "fake-b.fault=crash", "--set", "fake-b.at=run:3000",
    )  # fmt: skip
    assert called.code == 3, called.err
    dead = row(called, "fake-b")
    assert dead["state"] == "failed"
    assert "SIGSEGV" in dead["failure"]["message"]
    assert 0 < dead["calls"] < 3000
    assert row(called, "fake-a")["state"] == "ok"


def test_wrong_outputs_are_no_row_of_a_soak(model: Path) -> None:
    called = soak(model, "fake-a", "--set", "fake-a.fault=wrong")
    assert called.code == 1
    assert row(called, "fake-a")["state"] == "mismatch"


@pytest.mark.ci
def test_an_interrupt_keeps_every_block(model: Path) -> None:
    called = irbench_process(
        "soak", model, "--backends", "fake-a", "--calls", 8_000, "--format", "json",
        "--set", "fake-a.fault=interrupt", "--set", "fake-a.at=run:5000",
    )  # fmt: skip
    assert called.code == 130, called.err
    assert called.document["soaks"][0]["stopped_by"] == "interrupt"
    assert row(called, "fake-a")["calls"] > 0


def test_a_duration_and_a_number_of_calls_contradict_each_other(model: Path) -> None:
    called = irbench("soak", model, "--for", "1s", "--calls", 5)
    assert called.code == 2
    assert "cannot be combined" in called.err


def test_python_soaks_too(model: Path) -> None:
    moments: list[public.Progress] = []
    run = public.soak(model, backends="fake-a", calls=6_000, progress=moments.append)
    assert {moment.budget_s for moment in moments} == {None}
    assert run.tables == ()
    assert run.soaks[0].rows[0].memory is not None
    assert "memory is steady" in str(run)
    with pytest.raises(IrbenchError, match=r"^calls=0 is not valid"):
        public.soak(model, calls=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'budget'"):
        public.soak(model, budget="5s")  # type: ignore[call-arg]
