"""What ``irbench tune`` prints: what is recommended, why, and code that nothing cuts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from irbench.features.tune.report import (
    Alternative,
    Condition,
    Excluded,
    FewSettingsTried,
    Flip,
    FrontPoint,
    Gain,
    Reservation,
    RowFigures,
    TunedSetting,
    TuningReport,
    Unable,
)
from irbench.features.tune.view import (
    TUNING_TEXTS,
    condition_text,
    flip_map_parts,
    flip_map_sentence,
    measuring_flips_text,
    searching_text,
    tuning_view,
)
from irbench.render.accuracy import accuracy_text, limit_text
from irbench.render.table import TextTable
from irbench.spec import AccuracyLimit

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


OPENVINO = TunedSetting("a", "openvino x2", "openvino", 8, 2, 2, 1, "fp32")
ORT = TunedSetting("b", "ort", "ort", 8, 2, 1, 1, "fp32")
NEIGHBOUR = Condition("neighbour", 1, 0, 0.5)
ONE_THREAD = Condition("threads", 1, 2, 1.0)
BATCH_4, BATCH_16 = Condition("batch", 4, 8, 1.0), Condition("batch", 16, 8, 1.0)


def flip(condition: Condition, outcome: Any, low: float = 0.0, high: float = 0.0, **changes: Any) -> Flip:
    gain = Gain((low * high) ** 0.5, low=low, high=high, is_preview=False) if low else None
    return replace(Flip(condition, OPENVINO, ORT, outcome, gain), **changes)


def last_cells(*flips: Flip) -> list[str]:
    (table,) = (part for part in flip_map_parts(flips) if isinstance(part, TextTable))
    return [str(row.cells[-1]) for row in table.rows]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (NEIGHBOUR, "a busy neighbour"),
        (BATCH_4, "batch 4"),
        (ONE_THREAD, "1 thread"),
        (Condition("processors", 4, 8, 1.0), "4 processors"),
        (Condition("streams", 2, 1, 1.0), "2 streams"),
        (Condition("precision", "bf16", "fp32", 1.0), "precision bf16"),
    ],
)
def test_a_condition_is_named(condition: Condition, text: str):
    assert condition_text(condition) == text


def test_the_nearest_flip_is_named_first_with_what_the_rival_gains():
    found = [
        flip(BATCH_4, "kept", 1.1, 1.2),
        flip(BATCH_16, "kept", 1.1, 1.2),
        flip(ONE_THREAD, "flipped", 1 / 1.2, 1 / 1.05),
        flip(NEIGHBOUR, "undecided", 0.9, 1.1),
    ]
    assert flip_map_sentence(found) == (
        "ort wins with 1 thread: 1.12x [1.05, 1.20]; openvino stays ahead with batch 4 and batch 16;"
        " undecided with a busy neighbour"
    )


def test_where_nothing_flips_that_is_said():
    assert (
        flip_map_sentence([flip(BATCH_4, "kept", 1.1, 1.2)]) == "no flip was found; openvino stays ahead with batch 4"
    )


def test_conditions_that_were_not_measured_are_not_passed_over():
    found = [flip(BATCH_4, "kept", 1.1, 1.2), flip(ONE_THREAD, "not-measured", missing="no-time")]
    assert flip_map_sentence(found).endswith("; not measured with 1 thread")


def test_two_settings_of_one_backend_are_told_apart_by_their_labels():
    same = flip(BATCH_4, "flipped", 0.5, 0.6, rival=replace(ORT, label="openvino x4", backend="openvino"))
    assert flip_map_sentence([same]).startswith("openvino x4 wins with batch 4")


def test_the_table_says_why_a_condition_has_no_ratio():
    lost = flip(BATCH_4, "flipped", unable=(Unable("setting", "failed", "out of memory"),))
    late = flip(BATCH_16, "flipped", 1.1, 1.2, unable=(Unable("setting", "too-slow"),))
    skipped = flip(ONE_THREAD, "not-measured", missing="no-time")
    refused = flip(NEIGHBOUR, "not-measured", missing="neighbour-ended", message="it was killed")
    assert last_cells(lost, late, skipped, refused) == [
        "ort wins: openvino cannot run (out of memory)",
        "ort wins: openvino is above --max-latency",
        "not measured: no time is left, a larger --budget has more",
        "not measured: it was killed",
    ]


def test_a_flip_by_the_latency_limit_claims_no_gain():
    late = flip(BATCH_16, "flipped", 1.1, 1.2, unable=(Unable("setting", "too-slow"),))
    assert flip_map_sentence([late]) == "ort wins with batch 16"


def test_a_doubt_is_said_in_the_sentence_and_beside_the_outcome():
    doubtful = flip(BATCH_4, "kept", 1.1, 1.2, is_doubtful=True)
    assert last_cells(doubtful) == ["openvino stays ahead (doubtful)"]
    assert "something disturbed the tables with batch 4" in flip_map_sentence([doubtful])


def test_a_report_without_a_flip_map_has_no_words_of_one():
    assert list(flip_map_parts(())) == []


def test_a_confirmation_of_one_setting_has_nothing_to_compare():
    assert "no other setting" in measuring_flips_text(0, 60)
    assert "5 other conditions, 60 s" in measuring_flips_text(5, 60)


AGREEMENT = AccuracyLimit(0.99)
OWN = AccuracyLimit(0.1, "at-most", "metrics.py:error")


def setting(label: str, accuracy: float | None, **changes: Any) -> TunedSetting:
    return replace(TunedSetting(label, label, label, 1, 1, 1, 1, "bf16", accuracy=accuracy), **changes)


def report(limit: AccuracyLimit | None, **changes: Any) -> TuningReport:
    best = setting("openvino", 0.995, misses_tolerance=True)
    made = TuningReport(
        "net.onnx", "fps", None, "better", best, best, (Alternative(setting("ort", 1.0), "default"),),
        (FrontPoint(best, 2.0, 500.0, True), FrontPoint(setting("ort", 1.0), 3.0, 600.0, True)),
        accuracy_limit=limit,
    )  # fmt: skip
    return replace(made, **changes)


def shown_accuracy(found: TuningReport) -> str:
    return " ".join(str(tuning_view(found).as_markdown()).split())


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        (AGREEMENT, 0.995, ("top-1 agreement at least 99 %", "99.5 %")),
        (OWN, 0.0123, ("metrics.py:error at most 0.1", "0.0123")),
    ],
)
def test_a_share_is_a_percentage_and_a_measure_a_number(
    limit: AccuracyLimit, value: float, words: tuple[str, str]
) -> None:
    assert (limit_text(limit), accuracy_text(value, limit)) == words


def test_every_setting_that_is_shown_has_its_value() -> None:
    text = shown_accuracy(report(AGREEMENT))
    assert text.count("agreement |") == 2
    assert text.count("99.5 %\\*") == 2
    assert text.count("100 %") == 2
    assert "off by more than the tolerance" in text


def test_nothing_is_said_of_accuracy_without_a_limit() -> None:
    text = shown_accuracy(report(None))
    assert "agreement" not in text
    assert "tolerance" not in text


def test_what_the_limit_excluded_is_told_with_the_best_of_it() -> None:
    out = Excluded(12, 3, failed=1, best=setting("ort", 0.97, optimize="basic-int8", precision="int8"))
    text = shown_accuracy(report(AGREEMENT, excluded=out))
    assert (
        "Not searched: 12 settings of 3 combinations that miss top-1 agreement at least 99 % (1 of them failed)" in text
    )
    assert "ort+basic-int8 int8 with 97 %" in text


def test_nothing_is_told_where_nothing_was_excluded() -> None:
    assert "Not searched" not in shown_accuracy(report(AGREEMENT, excluded=Excluded(0, 0)))


def test_random_inputs_are_named_with_the_way_to_real_ones() -> None:
    assert "32 random inputs says little about real ones: use --data" in shown_accuracy(
        report(AGREEMENT, random_inputs=32)
    )
    assert "random" not in shown_accuracy(report(AGREEMENT))
