"""``irbench tune --slo`` through the front door, on backends whose calls take a known time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import pytest
from fake_runs import ENOUGH
from front_door import Called, irbench

import irbench as api
from irbench.errors import IrbenchError
from irbench.features.tune import service_level

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]

SMALL = ("--threads", "1", "--streams", "1", "--instances", "1", "--optimize", "none", *ENOUGH)
CALLS = ("--set", "fake-a.call_us=5000", "--set", "fake-b.call_us=7000")
"""A call takes as long whatever its batch."""


@pytest.fixture(scope="module", autouse=True)
def _few_launches() -> Iterator[None]:
    """Serve two rounds, whatever the budget: requests arrive in the time of the scripted backends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service_level, "confirmation_timing", lambda timing: replace(timing, max_launches=2))
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def tune(model: Path, *arguments: object) -> Called:
    return irbench("tune", model, "--backends", "fake-a,fake-b", *SMALL, *CALLS, "--format", "json", *arguments)


@pytest.fixture(scope="module")
def tuned(model: Path, results: Path) -> Called:
    return tune(model, "--batch", "1,4", "--slo", "p90<=20ms", "--results", results)


def test_the_best_settings_and_the_defaults_are_served_and_compared_by_their_rates(tuned: Called) -> None:
    assert tuned.code == 0, tuned.err
    report = tuned.document
    setting, held = report["setting"], report["held"]
    assert (setting["backend"], setting["batch"]) == ("fake-a", 4)
    assert not report["is_confirmed"]
    assert "few-launches" in {each["reason"] for each in report["reservations"]}
    defaults = [other for other in report["alternatives"] if other["kind"] == "default"]
    assert {other["setting"]["backend"] for other in defaults} == {"fake-a", "fake-b"}
    assert {setting["row"], *(other["setting"]["row"] for other in defaults)} <= held.keys()


def test_the_command_that_it_gives_serves_the_setting_again(tuned: Called, tmp_path: Path) -> None:
    words = tuned.document["command"]
    assert words[1] == "serve"
    again = irbench(*words[1:], "--format", "json", "--budget", "1s", "--results", tmp_path)
    assert again.code == 0, again.err
    (table,) = again.document["serving"]
    assert (table["level"]["percentile"], table["level"]["limit_ms"]) == (90, 20)
    assert {(row["backend"], row["batch"]) for row in table["rows"]} == {("fake-a", 4)}


def test_both_of_its_runs_are_stored_and_shown(tuned: Called, results: Path) -> None:
    shown = irbench("show", tuned.document["confirmation_run"], "--results", results)
    assert shown.code == 0, shown.err
    assert "fake-a batch 4" in shown.out
    assert irbench("show", tuned.document["search_run"], "--results", results).code == 0
    page = irbench("report", tuned.document["confirmation_run"], "--results", results, "-o", results / "page.html")
    assert page.code == 0, page.err


@pytest.mark.slow
def test_a_level_that_nothing_keeps_recommends_nothing(model: Path, tmp_path: Path) -> None:
    called = tune(model, "--batch", "1", "--slo", "p50<=1ms", "--results", tmp_path)
    assert called.code == 3, called.err
    assert (called.document["conclusion"], called.document["setting"]) == ("nothing", None)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--slo", "p99<=50ms", "--max-latency", "20ms"), "--max-latency"),
        (("--slo", "p99<=50ms", "--objective", "latency"), "--objective latency"),
        (("--slo", "p99<=50ms", "--generate", "8"), "--generate"),
        (("--slo", "p99<=50ms", "--flip-map"), "--flip-map"),
        (("--slo", "p99<=50ms", "--io", "bound"), "--io bound"),
        (("--slo", "p99<=50ms", "--batch", "1", "--batch-wait", "5ms"), "--batch 4,8"),
        (("--batch-wait", "5ms"), "--slo"),
    ],
)
def test_what_contradicts_a_service_level_is_refused(model: Path, arguments: tuple[str, ...], named: str) -> None:
    called = irbench("tune", model, "--backends", "fake-a", *arguments)
    assert called.code == 2
    assert named in called.err


def test_a_wait_is_refused_where_given_samples_make_the_batch_1(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", pixels=np.zeros((1, 3, 8, 8), np.float32))
    arguments = ("--slo", "p99<=50ms", "--batch-wait", "5ms", "--data", str(tmp_path / "samples.npz"))
    called = irbench("tune", model, "--backends", "fake-a", *arguments)
    assert (called.code, "At batch 1" in called.err) == (2, True), called.err


def test_python_refuses_it_with_its_own_words(model: Path) -> None:
    with pytest.raises(IrbenchError, match="max_latency"):
        api.tune(str(model), backends="fake-a", slo="p99<=50ms", max_latency="20ms", progress=None)
