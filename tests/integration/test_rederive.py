"""A stored run's tables follow from the samples that lie beside them."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from front_door import irbench

from irbench.stats.rederive import rederive
from irbench.store import Store

pytestmark = pytest.mark.usefixtures("known_backends")


def test_every_figure_of_a_stored_run_is_derived_from_its_samples_again(tmp_path: Path) -> None:
    model = models.mlp(tmp_path).path
    results = tmp_path / "results"
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick", "--budget", "1s",
        "--results", results, "--set", "fake-b.fault=wrong", "--pace", "2ms",
    )  # fmt: skip
    assert called.code == 1, called.err
    store = Store(results)
    folder = store.find("latest")
    stored = store.load(folder)
    assert {row.state for row in stored.groups[0].cells} == {"ok", "mismatch"}
    assert rederive(stored, store.launches(folder)) == stored
