"""What ``irbench tune`` prints: what is recommended, why, and code that nothing cuts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from irbench.render.tuning import TUNING_TEXTS, tuning_view
from irbench.tuning.report import Alternative, Gain, RowFigures, TunedSetting, TuningReport

FOUND = TunedSetting("found", "openvino+extended 2x1", "openvino", 4, 1, 1, 2, "fp32", optimize="extended")
DEFAULT = TunedSetting("default", "openvino", "openvino", 1, None, 1, 1, "fp32")
CODE = "session = onnxruntime.InferenceSession('a-model-with-a-long-name.extended.onnx', options, providers=['CPU'])"
REPORT = TuningReport(
    "net.onnx", "fps", None, "better", FOUND, FOUND, (Alternative(DEFAULT, "default", Gain(1.26, 1.13, 1.42, False)),),
    search_run="01S", confirmation_run="01C", command=("irbench", "run", "net.onnx", "--optimize", "extended" * 9),
    code=CODE, figures={"found": RowFigures(13.1, 305.4), "default": RowFigures(4.2, 239.1)}, results="my results",
)  # fmt: skip


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


@pytest.mark.parametrize("conclusion", TUNING_TEXTS)
def test_every_conclusion_has_a_sentence(conclusion: str):
    text = shown(replace(REPORT, conclusion=conclusion), 200)  # type: ignore[arg-type]
    assert TUNING_TEXTS[conclusion].split("{")[0].strip() in text  # type: ignore[index]


def test_a_single_launch_has_no_interval():
    single = (Alternative(DEFAULT, "default", Gain(1.26, 1.26, 1.26, is_preview=True)),)
    text = shown(replace(REPORT, conclusion="preview", alternatives=single), 200)
    assert "1.26x preview" in text
    assert "[1.26" not in text
