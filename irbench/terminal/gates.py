"""What a log must say of conditions that could not be judged, wherever the report itself went."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.across_runs.changes import Unjudged
from irbench.terminal.stderr import say


def say_unjudged(unjudged: Sequence[Unjudged], *, regressed: bool, is_shown: bool) -> None:
    """Write a line to stderr on conditions that could not be judged, unless the report on the screen has it."""
    from irbench.across_runs.texts import unjudged_text

    if unjudged and not is_shown:
        say(unjudged_text(unjudged, regressed=regressed))
