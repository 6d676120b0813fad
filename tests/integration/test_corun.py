"""``irbench corun`` through its front door: scripted models that react to neighbours which are not frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_backend
import models
import pytest
from counting_calls import install_perf
from fake_runs import ENOUGH, FASTEST
from front_door import Called, irbench

import irbench as public
from irbench.features.counters import run as counted
from irbench.runner.neighbours import Neighbours
from irbench.spec import Neighbour

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


PRESSING = ("--with", f"sh -c 'sleep 1000; :' {fake_backend.PRESSING} {{intensity}}", "--set", "fake-a.pressed=1",
            "--neighbour-warmup", "1ms")  # fmt: skip
"""A command that slows scripted models down by its intensity, from the moment in which it is started."""


def corun(model: Path, *arguments: object) -> Called:
    return irbench("corun", model, "--backends", "fake-a", "--format", "json", *arguments)


def rows(called: Called) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = called.document["groups"][0]["cells"]
    return found


@pytest.mark.ci
def test_a_neighbour_slows_a_row_down_as_much_as_it_presses_and_not_at_all_while_it_is_frozen(
    model: Path,
) -> None:
    called = corun(model, *PRESSING, "--intensity", "50,100", *ENOUGH)
    assert called.code == 0, called.err
    alone, again, half, full = rows(called)
    assert alone["latency_ms"]["p50"] == pytest.approx(0.3, rel=1e-3)
    assert [1 / row["speedup"]["value"] for row in (again, half, full)] == pytest.approx([1, 1.5, 2], rel=1e-3)
    assert [row["speedup"]["verdict"] for row in (again, half, full)] == ["same", "slower", "slower"]
    assert alone["neighbour"] is None
    assert half["requested"]["beside"]["intensity"] == 50


@pytest.mark.ci
def test_the_tail_is_that_beside_the_neighbour_too(model: Path) -> None:
    called = corun(model, *PRESSING, "--intensity", "100", "--tail", *ENOUGH)
    assert called.code == 0, called.err
    assert [row["latency_ms"]["p99"] for row in rows(called)] == pytest.approx([0.3, 0.3, 0.6], rel=1e-3)


@pytest.mark.ci
def test_pressure_of_its_own_is_counted_in_its_rows_alone(model: Path, tmp_path: Path) -> None:
    run = public.corun(model, beside="bandwidth", intensity=[0, 100], backends="fake-a", quick=True, budget=0.01,
                       results=tmp_path, progress=None)  # fmt: skip
    alone, again, none, full = run.tables[0].rows
    assert [row.beside for row in (alone, again, none, full)] == [None, None, "bandwidth", "bandwidth"]
    assert none.neighbour_gb_per_s == pytest.approx(0, abs=1e-6)
    assert full.neighbour_gb_per_s is not None
    assert full.neighbour_gb_per_s > 0
    assert public.load(run.id, results=tmp_path).tables[0].rows == run.tables[0].rows


@pytest.mark.ci
def test_a_model_at_a_low_rate_is_called_in_rounds(model: Path) -> None:
    called = corun(model, "--with", model, "--rate", "10", "--set", "fake-a.clock=real", *FASTEST)
    assert called.code == 0, called.err
    beside = rows(called)[2]
    assert beside["neighbour"]["calls_per_s"]["value"] > 1


@pytest.mark.ci
def test_each_condition_is_counted_and_its_neighbour_works_meanwhile(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_perf(tmp_path, monkeypatch)
    worked: list[str] = []

    class Watched(Neighbours):
        def beside(self, neighbour: Neighbour | None, action: Any) -> Any:
            worked.append("" if neighbour is None else neighbour.label)
            return super().beside(neighbour, action)

    monkeypatch.setattr(counted, "Neighbours", Watched)
    called = corun(model, "--with", "cpu", "--intensity", "100", "--counters", "software", *FASTEST)
    assert called.code == 0, called.err
    (table,) = called.document["counters"]
    assert [row["label"] for row in table["rows"]] == ["fake-a", "fake-a again", "fake-a beside cpu 100%"]
    assert all(row["launches"] for row in table["rows"])
    assert worked == ["cpu 100%"]


@pytest.mark.ci
def test_a_neighbour_that_ends_early_ends_the_run_with_one_line(model: Path) -> None:
    called = corun(model, "--with", "sleep 0.01", *FASTEST)
    assert called.code == 2
    assert "exit code 0" in called.err
    assert "until it is stopped" in called.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--with", "cpu", "--intensity", "101"), "101"),
        (("--with", "no-such-program --at all"), "no-such-program"),
        (("--with", "no_such_model"), "no_such_model"),
        (("--with", "cpu", "--rate", "20"), "--rate"),
        (("--with", "cpu", "--neighbour-warmup", "5s"), "--neighbour-warmup"),
        (("--with", "cpu", "--neighbour-cpus", "4095"), "--neighbour-cpus"),
    ],
)
def test_a_call_that_cannot_be_obeyed_is_refused_in_two_lines(
    model: Path, arguments: tuple[str, ...], named: str
) -> None:
    called = corun(model, *arguments)
    assert called.code == 2
    assert named in called.err
    assert len(called.err.strip().splitlines()) <= 3


def test_stress_ng_that_is_not_installed_is_named_with_what_installs_it(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    called = corun(model, "--with", "stress-ng --cpu 1")
    assert called.code == 2
    assert "apt install stress-ng" in called.err
