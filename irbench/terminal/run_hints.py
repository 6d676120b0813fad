"""What is said of runs that ended early, and can be continued."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.terminal.stderr import say

if TYPE_CHECKING:
    from irbench.core.result import RunDocument
    from irbench.store.entries import RunEntry


def say_how_to_resume(document: RunDocument, results: Path | None, *, began_here: bool = False) -> None:
    """Say which command continues a run, if one does."""
    if document.is_resumable:
        say(f"{'interrupted' if began_here else 'incomplete'}: {how_to_resume(document.run_id, results)} continues it")


def say_which_are_unfinished(shown: Sequence[RunEntry], results: Path | None) -> None:
    """Say how the newest of the listed runs that ended early can be continued, and how many others can."""
    from irbench.core.quantities import plural
    from irbench.store.listing import resumable_runs

    newest, *others = resumable_runs(shown) or (None,)
    if newest is not None:
        more = f" ({plural(len(others), 'more run')} can be continued)" if others else ""
        say(f"{newest.run_id} is incomplete: {how_to_resume(newest.run_id, results)} continues it{more}")


def how_to_resume(run: str, results: Path | None) -> str:
    """Return the command that continues a run."""
    from irbench.store.folders import results_option

    return f"irbench run --resume {run}{results_option(results)}"


def say_which_run(root: Path, name: str | None) -> None:
    """Say which run is meant, where ``latest`` is not simply the newest, or a name is that of several runs."""
    from irbench.store.folders import LATEST, results_option
    from irbench.store.listing import find_run, runs_called

    if name is None or name == LATEST:
        _say_which_latest(root)
        return
    called = runs_called(root, name)
    if len(called) > 1:
        taken, listed = find_run(root, name).name, f"irbench results{results_option(root)}"
        say(f"{len(called)} runs are called {name!r}: taking {taken}. All of them: {listed}")


def _say_which_latest(root: Path) -> None:
    from irbench.store.listing import latest_run

    latest = latest_run(root)
    if not latest.entry.measured:
        say("no stored run has a measured row; this is the newest")
    elif latest.passed_over:
        say(f"{latest.passed_over[0].run_id} is newer, but none of its rows was measured")
