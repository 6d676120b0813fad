"""Commands that measure, in a shell that closes their outputs, fills them, or hangs up: what was measured is stored."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import models
import pytest
from fake_runs import FASTEST, FASTEST_PLAN
from front_door import irbench

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]

PLAN = f"""{FASTEST_PLAN}
[[matrix]]
backends = "fake-a"
batch = [1, 2]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def in_shell(redirected: str, *arguments: object) -> int:
    """Call irbench in bash with redirected outputs, and return its exit code."""
    words = [sys.executable, "-P", "-m", "irbench", *map(str, arguments)]
    line = f"{shlex.join(words)} {redirected}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(["bash", "-c", line], check=False, timeout=240).returncode


def run_in_shell(model: Path, redirected: str, *arguments: str) -> int:
    return in_shell(redirected, "run", model, "--backends", "fake-a,fake-b", *FASTEST, *arguments)


def stored() -> list[bool]:
    """Return whether each stored run is complete."""
    return [run["complete"] for run in irbench("results", "--format", "json").document["runs"]]


def test_a_run_whose_outputs_are_closed_is_stored(model: Path) -> None:
    assert run_in_shell(model, ">&- 2>&- <&-") == 0
    assert stored() == [True]


@pytest.mark.parametrize(
    "redirected", ["2>&1 | head -1 >/dev/null", "2>&1 | true", "2>&-", ">&-", "2>/dev/full", "| true"]
)
def test_a_run_that_nobody_listens_to_is_stored_and_keeps_its_exit_code(redirected: str, model: Path) -> None:
    assert run_in_shell(model, redirected) == 0
    assert run_in_shell(model, redirected, "--strict", "--set", "fake-b.fault=raise", "--set", "fake-b.at=compile") == 3
    assert stored() == [True, True]


def test_a_run_whose_table_has_no_room_is_stored_and_says_so(model: Path) -> None:
    assert run_in_shell(model, ">/dev/full") == 2
    assert stored() == [True]


@pytest.mark.parametrize("redirected", [">&- 2>&-", "2>&1 | true"])
def test_a_soak_that_nobody_listens_to_is_stored(redirected: str, model: Path) -> None:
    assert in_shell(redirected, "soak", model, "--backends", "fake-a", "--calls", 6_000) == 0
    assert stored() == [True]


@pytest.mark.parametrize("redirected", [">&- 2>&-", "2>&1 | true"])
def test_a_sweep_that_nobody_listens_to_measures_and_stores_every_table(redirected: str, tmp_path: Path) -> None:
    models.mlp(tmp_path)
    plan = tmp_path / "night.toml"
    plan.write_text(PLAN)
    assert in_shell(redirected, "sweep", plan) == 0
    assert stored() == [True, True]


def test_a_terminal_that_is_closed_ends_a_run_which_is_stored(model: Path) -> None:
    process, terminal = pty.fork()
    words = [sys.executable, "-P", "-m", "irbench", "run", str(model), "--backends", "fake-a,fake-b"]
    if process == 0:
        os.execv(words[0], words)
    shown = b""
    while b"launch 2" not in shown and b"launch 3" not in shown:
        shown += os.read(terminal, 2**16)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    (run,) = irbench("results", "--format", "json").document["runs"]
    assert not run["complete"]
    assert run["launches"] >= 1
