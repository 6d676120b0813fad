"""What a search says of accuracy: a column in its tables, and what the limit excluded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irbench.features.tune.report import Alternative, Excluded, FrontPoint, TunedSetting, TuningReport
from irbench.features.tune.view import tuning_view
from irbench.render.words import accuracy_text, limit_text
from irbench.spec import AccuracyLimit

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


def shown(found: TuningReport) -> str:
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
    text = shown(report(AGREEMENT))
    assert text.count("agreement |") == 2
    assert text.count("99.5 %\\*") == 2
    assert text.count("100 %") == 2
    assert "off by more than the tolerance" in text


def test_nothing_is_said_of_accuracy_without_a_limit() -> None:
    text = shown(report(None))
    assert "agreement" not in text
    assert "tolerance" not in text


def test_what_the_limit_excluded_is_told_with_the_best_of_it() -> None:
    out = Excluded(12, 3, failed=1, best=setting("ort", 0.97, optimize="basic-int8", precision="int8"))
    text = shown(report(AGREEMENT, excluded=out))
    assert (
        "Not searched: 12 settings of 3 combinations that miss top-1 agreement at least 99 % (1 of them failed)" in text
    )
    assert "ort+basic-int8 int8 with 97 %" in text


def test_nothing_is_told_where_nothing_was_excluded() -> None:
    assert "Not searched" not in shown(report(AGREEMENT, excluded=Excluded(0, 0)))


def test_random_inputs_are_named_with_the_way_to_real_ones() -> None:
    assert "32 random inputs says little about real ones: use --data" in shown(report(AGREEMENT, random_inputs=32))
    assert "random" not in shown(report(AGREEMENT))
