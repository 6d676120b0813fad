"""The words of a flip map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irbench.features.tune.report import Condition, Flip, Gain, TunedSetting, Unable
from irbench.features.tune.view import condition_text, flip_map_parts, flip_map_sentence, measuring_flips_text
from irbench.render.table import TextTable

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
