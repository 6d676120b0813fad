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
    """Say which command continues a run, if one does.

    Args:
        document: The run.
        results: The folder where runs are kept, as the user named it.
        began_here: Whether this call was measuring it.
    """
    if document.is_resumable:
        say(f"{'interrupted' if began_here else 'incomplete'}: {how_to_resume(document.run_id, results)} continues it")


def say_which_are_unfinished(shown: Sequence[RunEntry], results: Path | None) -> None:
    """Say how the newest of the listed runs that ended early can be continued, and how many others can.

    Args:
        shown: The runs, newest first.
        results: The folder where runs are kept, as the user named it.
    """
    from irbench.core.quantities import plural
    from irbench.store.listing import resumable_runs

    newest, *others = resumable_runs(shown) or (None,)
    if newest is not None:
        more = f" ({plural(len(others), 'more run')} can be continued)" if others else ""
        say(f"{newest.run_id} is incomplete: {how_to_resume(newest.run_id, results)} continues it{more}")


def how_to_resume(run: str, results: Path | None) -> str:
    """Return the command that continues a run.

    Args:
        run: Its id.
        results: The folder where runs are kept, as the user named it.
    """
    from irbench.store.folders import results_option

    return f"irbench run --resume {run}{results_option(results)}"
