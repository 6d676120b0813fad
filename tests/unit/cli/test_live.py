"""The progress display: whole on a terminal, a line for each launch elsewhere."""

from __future__ import annotations

import io

from rich.console import Console

from irbench.cli.live import LiveDisplay
from irbench.result import GroupResult
from irbench.runner.progress import Progress

INTERIM = GroupResult("model", 1, {}, None, 1, 8, 0, 8, "launches", True, 1.0, None, ())
MOMENT = Progress("resnet50", "block 3 of 8", 2, 12, 31.0, 150.0, "ort ±1.8 %")


def shown(progress: Progress, *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    with LiveDisplay(console) as display:
        display.show(progress)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_sees_what_runs_how_long_and_how_the_interval_narrows() -> None:
    text = shown(MOMENT, terminal=True)
    for part in ("resnet50", "launch 2 of at most 12", "block 3 of 8", "31 of at most 150 s", "ort ±1.8 %"):
        assert part in text


def test_a_pipe_sees_a_line_for_each_launch_and_nothing_between() -> None:
    assert shown(MOMENT, terminal=False) == ""
    finished = Progress("resnet50", "launch finished", 2, 12, 31.0, 150.0, "ort ±1.8 %", INTERIM)
    assert shown(finished, terminal=False) == "resnet50: launch 2 done after 31 s · ort ±1.8 %\n"
