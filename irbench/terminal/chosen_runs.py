"""Which stored run a name stands for, where that is not obvious."""

from __future__ import annotations

from pathlib import Path

from irbench.store.folders import results_option
from irbench.store.listing import LATEST, find_run, latest_run, runs_called
from irbench.terminal.stderr import say


def say_which_run(root: Path, name: str | None) -> None:
    """Say which run is meant, where ``latest`` is not simply the newest, or a name is that of several runs.

    Raises:
        IrbenchError: No run is stored.
    """
    if name is None or name == LATEST:
        _say_which_latest(root)
        return
    called = runs_called(root, name)
    if len(called) > 1:
        taken, listed = find_run(root, name).name, f"irbench results{results_option(root)}"
        say(f"{len(called)} runs are called {name!r}: taking {taken}. All of them: {listed}")


def _say_which_latest(root: Path) -> None:
    latest = latest_run(root)
    if not latest.entry.measured:
        say("no stored run has a measured row; this is the newest")
    elif latest.passed_over:
        say(f"{latest.passed_over[0].run_id} is newer, but none of its rows was measured")
