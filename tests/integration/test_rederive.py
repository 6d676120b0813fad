"""A stored run's tables follow from the samples that lie beside them."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from fake_runs import FASTEST
from front_door import irbench
from made_peaks import peaks

from irbench.across_runs.differences import fingerprint
from irbench.stats.rederive import rederive
from irbench.store import bundles
from irbench.store.kept_peaks import keep_peaks
from irbench.store.runs import Store
from irbench.system import host

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]


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


def test_the_share_of_the_roof_is_shown_stored_and_derived_again(tmp_path: Path) -> None:
    keep_peaks(bundles.home(), peaks(fingerprint(host.describe())))
    model = models.mlp(tmp_path).path
    results = tmp_path / "results"
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", *FASTEST, "--threads", "1", "--results", results,
        "--set", "fake-b.precision=tf32", "--roofline",
    )  # fmt: skip
    assert called.code == 0, called.err
    again = irbench("show", "--roofline", "--results", results)
    for shown in (called.out, again.out):
        assert "GFLOP/s" in shown
        assert "of roof" in shown
    assert "of roof" not in irbench("show", "--results", results).out
    store = Store(results)
    folder = store.find("latest")
    stored = store.load(folder)
    known, without_peak = sorted(stored.groups[0].cells, key=lambda row: row.backend)
    assert known.work is not None
    assert known.fps is not None
    assert known.gflop_per_s == pytest.approx(known.work.operations * known.fps / 1e9)
    assert known.roof_share == pytest.approx(known.gflop_per_s / known.work.roofs["fp32"].gflop_per_s)
    assert without_peak.gflop_per_s is not None
    assert without_peak.roof_share is None
    assert rederive(stored, store.launches(folder)) == stored


def test_without_known_peaks_a_roofline_is_refused_and_named_where_it_is_measured(tmp_path: Path) -> None:
    asked = ("run", models.mlp(tmp_path).path, "--backends", "fake-a", *FASTEST, "--results", tmp_path)
    called = irbench(*asked, "--roofline")
    assert called.code == 2
    assert "irbench doctor --peak" in called.err
    assert irbench(*asked).code == 0
    called = irbench("show", "--roofline", "--results", tmp_path)
    assert called.code == 2
    assert "irbench doctor --peak" in called.err
