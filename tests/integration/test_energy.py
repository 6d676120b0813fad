"""``irbench run --energy`` on a machine whose counters are scripted, and on one that has none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import models
import pytest
from fake_runs import cell, run
from front_door import Called, irbench
from powercap_trees import add_zone, set_energy

from irbench.measure import nvml
from irbench.measure.energy import access
from irbench.runner import launch

pytestmark = pytest.mark.usefixtures("known_backends")

STEP_UJ = 2_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without counters of energy."""
    root = tmp_path / "powercap"
    root.mkdir()
    monkeypatch.setattr(access, "POWERCAP", root)
    monkeypatch.setattr(nvml, "NVIDIA_DRIVER", tmp_path / "none")
    monkeypatch.setattr(launch, "sleep", lambda _: threading.Event().wait(0.05))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return root


@pytest.fixture
def counting(machine: Path) -> Iterator[Path]:
    """The same machine with a package whose energy grows all the time, and memory that stands still."""
    package = add_zone(machine, "intel-rapl:0", "package-0")
    add_zone(machine, "intel-rapl:0:0", "dram", 7)
    ended = threading.Event()

    def count() -> None:
        used_uj = 0
        while not ended.wait(0.001):
            used_uj += STEP_UJ
            set_energy(package, used_uj)

    counter = threading.Thread(target=count)
    counter.start()
    yield machine
    ended.set()
    counter.join()


@pytest.fixture
def measured(model: Path, counting: Path, tmp_path: Path) -> Called:
    called = run(model, "--energy", "--results", tmp_path / "results", "--name", "metered")
    assert called.code == 0, called.err
    return called


def test_energy_is_that_of_a_row_alone_with_what_the_idle_machine_uses(measured: Called, tmp_path: Path) -> None:
    energy = cell(measured, "fake-a")["energy"]
    assert list(energy["watts_by_domain"]) == ["package-0"]
    assert energy["joules"] == pytest.approx(energy["watts"] * 300e-6, rel=1e-2)
    assert energy["idle_watts"] > 0
    assert energy["joules_above_idle"] == pytest.approx(
        (energy["watts"] - energy["idle_watts"]) * 300e-6, abs=1e-9, rel=1e-2
    )
    assert measured.document["plan"]["timing"]["sustain"] == 3.0
    shown = irbench("show", "metered", "--results", tmp_path / "results").out
    assert "J/inference" in shown
    assert "J/inference: of package-0, each row alone · above idle: without the" in shown


def test_a_machine_without_counters_is_refused_before_anything_is_measured(model: Path, machine: Path) -> None:
    called = run(model, "--energy")
    assert called.code == 2
    assert "Energy cannot be measured: this machine has no counters" in called.err
    assert "hint:" in called.err


def test_energy_and_cold_starts_are_not_measured_together(model: Path, machine: Path) -> None:
    called = run(model, "--energy", "--cold")
    assert called.code == 2
    assert "--cold and --energy cannot be combined" in called.err
