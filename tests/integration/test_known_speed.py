"""The backends of known speed, built and found like any third party's plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import models
import pytest
from fake_runs import FASTEST
from front_door import Called, irbench_process

PROJECT = Path(__file__).parents[1] / "known_speed"


@pytest.fixture(scope="module", autouse=True)
def _plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Build the plugin and let every process that these tests start find it."""
    built, site = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ["PYTHONPATH"]]))
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def run(model: Path, *arguments: object) -> Called:
    """Compare the two in a single short launch."""
    backends = ("--backends", "known-a,known-b", "--set", "known-a.call_us=200", "--set", "known-b.call_us=200")
    return irbench_process("run", model, *backends, *FASTEST, "--format", "json", *arguments)


def cell(called: Called, backend: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [item for item in called.document["groups"][0]["cells"] if item["backend"] == backend]
    return found


def test_its_names_are_listed_like_any_other_backend() -> None:
    listed = irbench_process("backends")
    assert listed.code == 0, listed.err
    assert [line.split()[:3] for line in listed.out.splitlines() if line.startswith("known-")] == [
        [f"known-{letter}", "irbench-known-speed", "1.0"] for letter in "abcde"
    ]


@pytest.mark.ci
def test_two_names_are_measured_verified_and_compared(model: Path) -> None:
    called = run(model, "--set", "known-b.wait=sleep", "--set", "known-b.stall_ms=1")
    assert called.code == 0, called.err
    first, second = cell(called, "known-a"), cell(called, "known-b")
    assert [first["state"], second["state"]] == ["ok", "ok"]
    assert second["output_error"]["max_rel"] == pytest.approx(0, abs=1e-6)
    assert second["effective"]["version"] == "1.0"
    assert second["speedup"]["value"] > 0


@pytest.mark.ci
def test_wrong_outputs_keep_their_time_and_get_no_speedup(model: Path) -> None:
    wrong = cell(run(model, "--set", "known-b.wrong=1.5"), "known-b")
    assert (wrong["state"], wrong["speedup"]) == ("mismatch", None)
    assert wrong["latency_ms"]["p50"] > 0


@pytest.mark.ci
def test_several_streams_share_one_process(model: Path) -> None:
    called = run(model, "--streams", "2", "--set", "known-a.wait=sleep", "--set", "known-b.wait=sleep")
    assert cell(called, "known-a")["mode"] == "streams"
    assert cell(called, "known-a")["effective"]["streams"] == 2


@pytest.mark.ci
def test_an_option_that_it_does_not_have_is_refused_in_its_row(model: Path) -> None:
    failure = cell(run(model, "--set", "known-b.speed=9"), "known-b")["failure"]
    assert failure["message"] == "known-b has no option 'speed'."
    assert failure["hint"].startswith("Options: call_us, wait,")
