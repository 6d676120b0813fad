"""The progress display: whole on a terminal, a line for each launch elsewhere."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from irbench.api.live_display import LiveDisplay, ProgressConsole
from irbench.core.activity import Activity, Outlook
from irbench.core.result import GroupResult
from irbench.options.python_words import with_keywords
from irbench.options.run import RUN
from irbench.runner.run_progress import Progress

INTERIM = GroupResult(
    model="model",
    batch=1,
    shapes={},
    baseline=None,
    launches=1,
    blocks_per_launch=8,
    blocks_excluded=0,
    blocks_measured=8,
    stopped_by="launches",
    preview=True,
    seconds=1.0,
    winner=None,
    cells=(),
)
BLOCK = Activity("block", block=3, clean_blocks=8)
MOMENT = Progress("resnet50", BLOCK, 2, 12, 31.0, 150.0, Outlook("ort", None, 0.018, target=0.01, rows_left=0))


def shown(*moments: Progress, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    with LiveDisplay(console) as display:
        for moment in moments:
            display.show(moment)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_sees_what_runs_how_long_and_how_the_interval_narrows() -> None:
    text = shown(MOMENT, terminal=True)
    for part in (
        "resnet50",
        "launch 2 of at most 12",
        "block 3, 8 undisturbed ones needed",
        "31 of at most 150 s",
        "ort ±1.8 %",
    ):
        assert part in text


@pytest.mark.parametrize("terminal", [True, False])
def test_steps_on_the_way_are_shown_in_one_place_of_a_terminal_and_nowhere_else(terminal: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=60, color_system=None)
    with LiveDisplay(console) as display:
        for number in range(40):
            display.status(f"net: pass {number}")
        display.status("")
        after = len(console.file.getvalue())
        display.show(replace(MOMENT, activity=Activity("launch-finished"), interim=INTERIM))
    written = console.file.getvalue()
    assert ("pass 39" in written) == terminal
    assert written[:after].count("\n") <= 1  # each step took the place of the last one
    assert "launch 2" in written[after:]


def test_a_terminal_sees_no_limit_where_none_is_known() -> None:
    text = shown(replace(MOMENT, budget_s=None), terminal=True)
    assert "31 s" in text
    assert "31 of at most" not in text
    assert "━" not in text
    assert "0 of at most 0 s" in shown(replace(MOMENT, elapsed_s=0.0, budget_s=0.0), terminal=True)


def test_a_pipe_sees_a_line_for_each_launch_and_nothing_between() -> None:
    finished = replace(MOMENT, activity=Activity("launch-finished"), interim=INTERIM)
    moments = (replace(MOMENT, elapsed_s=29.0), finished, replace(MOMENT, launch=3, elapsed_s=60.0))
    assert shown(*moments, terminal=False) == "resnet50: launch 2 done after 31 s · ort ±1.8 %: decided\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_that_the_budget_is_too_small_stays_to_be_read(terminal: bool) -> None:
    told = replace(MOMENT, activity=Activity("over-budget", needed_s=700), outlook=None)
    said = shown(told, MOMENT, terminal=terminal)
    line = "resnet50: launch 2 of at most 12 · no time for intervals: they need about --budget 700s · after 31 s\n"
    assert line in said.replace("\r", "")


def test_the_remaining_time_of_the_command_is_shown_where_it_is_known() -> None:
    foreseen = replace(MOMENT, remaining_s=75.4)
    assert "31 of at most 150 s, about 75 s left" in shown(foreseen, terminal=True)
    assert "31 s, about 75 s left" in shown(replace(foreseen, budget_s=None), terminal=True)
    finished = replace(foreseen, activity=Activity("launch-finished"), interim=INTERIM, remaining_s=180.0)
    said = shown(finished, terminal=False)
    assert said == "resnet50: launch 2 done after 31 s, about 3 min left · ort ±1.8 %: decided\n"


def test_a_line_names_the_batch_where_a_run_has_several() -> None:
    finished = replace(MOMENT, activity=Activity("launch-finished"), interim=INTERIM, batch=8)
    assert shown(finished, terminal=False).startswith("resnet50 batch 8: launch 2 done")


def test_a_line_names_the_sizes_that_a_sweep_has_reached() -> None:
    finished = replace(MOMENT, activity=Activity("launch-finished"), interim=INTERIM, sizes={"length": 64, "width": 8})
    assert shown(finished, terminal=False).startswith("resnet50 length 64, width 8: launch 2 done")


def test_a_pipe_sees_what_runs_where_a_launch_takes_long() -> None:
    moments = (replace(MOMENT, launch=1, outlook=None, elapsed_s=second) for second in range(0, 100, 5))
    assert shown(*moments, terminal=False).splitlines() == [
        f"resnet50: launch 1 of at most 12 · block 3, 8 undisturbed ones needed · after {second} s"
        for second in (30, 60, 90)
    ]


def test_a_pipe_hears_of_the_next_group_by_its_own_time() -> None:
    moments = (replace(MOMENT, elapsed_s=140.0), *(replace(MOMENT, elapsed_s=second) for second in (1.0, 29.0, 32.0)))
    said = [line.split("after ")[1] for line in shown(*moments, terminal=False).splitlines()]
    assert said == ["140 s · ort ±1.8 %: decided", "32 s · ort ±1.8 %: decided"]


@pytest.mark.parametrize("terminal", [False, True])
def test_a_name_steers_no_terminal(terminal: bool) -> None:
    finished = replace(MOMENT, activity=Activity("launch-finished", row="a\x1b]0;title\x07"), interim=INTERIM)
    text = shown(replace(finished, model="net\x9b31m\nFORGED\u202e"), terminal=terminal)
    assert "net" in text
    assert not {"\x9b", "\x07", "\u202e"} & set(text)
    assert "\x1b]" not in text


@pytest.mark.parametrize(
    ("terminal", "said"),
    [(False, "warning: one two three\n"), (True, "warning: one\ntwo three\n")],
)
def test_a_warning_is_wrapped_at_words_on_a_terminal(
    terminal: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with LiveDisplay(Console(file=io.StringIO(), width=12, force_terminal=terminal)) as display:
        display.say("warning: one two three")
    assert capsys.readouterr().err == said


class RunFinished(Exception):
    """The run came to its end: nothing else ended it before."""


def run_to_the_end(display: LiveDisplay) -> None:
    display.say("stored in a folder")
    for _ in range(2):
        display.show(replace(MOMENT, activity=Activity("launch-finished"), interim=INTERIM))
    raise RunFinished


def test_a_pipe_that_nobody_reads_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as pipe:
        monkeypatch.setattr(sys, "stderr", pipe)
        with pytest.raises(RunFinished), LiveDisplay(ProgressConsole()) as display:
            run_to_the_end(display)
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)  # for what is left in the buffer


@pytest.mark.parametrize("terminal", [True, False])
def test_a_budget_that_intervals_take_is_told_as_it_is_typed_by_whoever_reads_it(terminal: bool) -> None:
    moment = replace(MOMENT, activity=Activity("over-budget", needed_s=90))
    assert "about --budget 90s" in shown(moment, terminal=terminal)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    with LiveDisplay(console, lambda text: with_keywords(text, RUN.options)) as display:
        display.show(moment)
    assert isinstance(console.file, io.StringIO)
    assert 'about budget="90s"' in console.file.getvalue()
    assert "--budget" not in console.file.getvalue()
