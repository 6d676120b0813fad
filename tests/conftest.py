"""What every test relies on: workers find the modules of this folder, and no test touches the user's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from irbench.measure import clock, drive, evidence, phases

# Fast tests try the same examples everywhere, so that a failure is one of the change.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back, after each test, what a scripted backend put in the place of the clock of this process."""
    for module in (clock, drive, evidence, phases):
        monkeypatch.setattr(module, "now_ns", module.now_ns)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test empty folders for bundles and results, and a machine of its own to measure on."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("IRBENCH_HOME", str(home / "cache"))
    monkeypatch.setenv("IRBENCH_RESULTS", str(home / "results"))
    monkeypatch.setenv("IRBENCH_LOCK", str(home / "lock"))  # tests run side by side
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it, and tables would be cut to it
    return home


@pytest.fixture(autouse=True, scope="session")
def modules_of_this_folder() -> None:
    """Let every process that a test starts import what stands beside this file."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
