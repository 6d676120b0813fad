"""What ``irbench tune`` prints: what is recommended, why, and code that nothing cuts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from irbench.features.tune.report import (
    Alternative,
    FewSettingsTried,
    Gain,
    Reservation,
    RowFigures,
    TunedSetting,
    TuningReport,
)
from irbench.features.tune.view import TUNING_TEXTS, searching_text, tuning_view

FOUND = TunedSetting("found", "openvino+extended 2x1", "openvino", 4, 1, 1, 2, "fp32", optimize="extended")
DEFAULT = TunedSetting("default", "openvino", "openvino", 1, None, 1, 1, "fp32")
CODE = "session = onnxruntime.InferenceSession('a-model-with-a-long-name.extended.onnx', options, providers=['CPU'])"
REPORT = TuningReport(
    "net.onnx",
    "fps",
    None,
    "better",
    FOUND,
    FOUND,
    (Alternative(DEFAULT, "default", Gain(1.26, low=1.13, high=1.42, is_preview=False)),),
    search_run="01S",
    confirmation_run="01C",
    command=("irbench", "run", "net.onnx", "--optimize", "extended" * 9),
    code=CODE,
    figures={"found": RowFigures(13.1, 305.4), "default": RowFigures(4.2, 239.1)},
    results="my results",
)


def shown(report: TuningReport, width: int) -> str:
    console = Console(width=width, no_color=True, color_system=None)
    with console.capture() as capture:
        console.print(tuning_view(report), highlight=False, crop=False)
    return capture.get()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_code_and_commands_are_whole_at_any_width(width: int):
    text = shown(REPORT, width)
    assert CODE in text
    assert "extended" * 9 in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_gain_and_its_interval_stay_at_any_width(width: int):
    assert "1.26x [1.13, 1.42]" in shown(REPORT, width)


def test_figures_of_the_confirmation_are_shown_where_there_is_room():
    text = shown(REPORT, 120)
    assert "305" in text
    assert "239" in text


def test_the_runs_are_named_with_the_folder_that_holds_them():
    assert "irbench show 01C --results 'my results'" in shown(REPORT, 200)


def test_every_conclusion_has_a_sentence(subtests: pytest.Subtests):
    for conclusion in TUNING_TEXTS:
        with subtests.test(conclusion=conclusion):
            text = shown(replace(REPORT, conclusion=conclusion, setting=DEFAULT), 200)  # type: ignore[arg-type]
            sentence = TUNING_TEXTS[conclusion].replace("{leader}", FOUND.label)  # type: ignore[index]
            assert sentence.split("{")[0].strip() in text


PRELIMINARY = replace(REPORT, conclusion="doubtful", is_confirmed=False, reservations=(Reservation("busy", "default"),))


def test_what_is_recommended_stands_above_the_table_and_is_marked_in_it():
    text = shown(replace(REPORT, is_confirmed=True), 120)
    assert f"Recommended: {FOUND.label}\n" in text
    assert [line.split()[0] for line in text.splitlines() if "found, recommended" in line] == [FOUND.label.split()[0]]
    assert f"Measure {FOUND.label} again:" in text
    assert f"Use {FOUND.label}:" in text


def test_a_setting_that_is_not_confirmed_is_called_so_with_the_reason_and_what_would_help():
    text = shown(PRELIMINARY, 200)
    assert f"Recommended (until confirmed): {FOUND.label}\n" in text
    assert "1.26x [1.13, 1.42] the default of openvino" in text
    assert "Not confirmed: other programs disturbed most blocks." in text
    assert "--budget does not help" in text


def test_the_budget_that_would_decide_is_named():
    open_one = (Reservation("interval-includes-1", "default"),)
    text = shown(replace(PRELIMINARY, conclusion="undecided", reservations=open_one, deciding_budget_s=420.0), 200)
    assert "the confidence interval of the lead over openvino includes 1. --budget 7m should be enough" in text


def test_a_search_that_tried_few_settings_says_so():
    note = FewSettingsTried(tried=5, settings=180, enough=40, budget_s=720.0)
    text = shown(replace(REPORT, notes=(note,)), 200)
    assert "Only 5 of 180 settings were tried" in text
    assert "--budget 12m" in text


def test_what_is_searched_is_said_before_the_search():
    assert searching_text(180, (1, 16, 4), "fps", 50.0, 300) == (
        "searching 180 settings for the most FPS (any batch of 1, 4, 16, p90 latency at most 50 ms), then confirming"
        " the best; the budget is 300 s"
    )
    assert searching_text(1, (1,), "latency", None, 90) == (
        "searching 1 setting for the lowest latency (batch 1), then confirming the best; the budget is 90 s"
    )


def test_a_single_launch_has_no_interval():
    single = (Alternative(DEFAULT, "default", Gain(1.26, low=None, high=None, is_preview=True)),)
    text = shown(replace(REPORT, conclusion="preview", alternatives=single), 200)
    assert "1.26x preview" in text
    assert "[1.26" not in text
