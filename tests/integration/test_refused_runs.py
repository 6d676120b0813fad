"""A run that is refused before anything is measured leaves nothing that could be continued."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from front_door import irbench

from irbench.errors import IrbenchError
from irbench.runs import group_measurement as comparison

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]


def test_a_refused_run_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise IrbenchError("The folder holds more than compiled code.", hint="Name another.")

    monkeypatch.setattr(comparison, "run", refuse)
    model = models.mlp(tmp_path).path
    results = tmp_path / "results"
    called = irbench("run", model, "--backends", "fake-a", "--quick", "--results", results)
    assert called.code == 2
    assert not list(results.rglob("run.json"))
    again = irbench("run", "--resume", "--results", results)
    assert (again.code, "No unfinished run is stored" in again.err) == (2, True), again.err


def test_a_run_whose_folder_is_refused_to_a_confined_model_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    model = models.mlp(tmp_path).path
    results = tmp_path / "results"
    chosen = ("--backends", "fake-a", "--set", f"fake-a.cache={tmp_path}", "--quick", "--results", results)
    called = irbench("run", model, *chosen)
    if "is not available here" in called.err:
        pytest.skip("no Landlock")
    assert (called.code, "holds more than compiled code" in called.err) == (2, True), called.err
    assert "No unfinished run is stored" in irbench("run", "--resume", "--results", results).err
