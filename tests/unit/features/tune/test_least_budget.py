"""A budget in which nothing can be confirmed is told before anything is started."""

from __future__ import annotations

from dataclasses import replace

from irbench.features.tune.least_budget import least_budget_s, warn_of_small_budget
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.options.python_words import with_keywords
from irbench.options.run import RunOptions
from irbench.spec.serving import ServiceLevel

ONE = TuneOptions("model.onnx", RunOptions(backends=("ort",)))


def said(options: TuneOptions) -> list[str]:
    lines: list[str] = []
    warn_of_small_budget(options, lines.append)
    return lines


def test_the_usual_budget_is_enough_for_every_backend() -> None:
    several = replace(ONE.run, backends=("ort", "openvino", "tf", "tf-xla"))
    assert said(replace(ONE, run=several)) == []
    assert said(replace(ONE, run=several, slo=ServiceLevel(99, 50))) == []


def test_a_budget_that_is_too_small_is_told_with_one_that_is_not() -> None:
    (line,) = said(replace(ONE, budget=5.0))
    assert line.startswith("warning: `--budget 5s` is too small to confirm a setting")
    assert "Give `--budget 1m` or more" in line
    assert said(replace(ONE, budget=60.0)) == []


def test_a_budget_that_is_too_small_is_told_to_callers_of_python_as_a_keyword() -> None:
    (line,) = said(replace(ONE, budget=5.0))
    told = with_keywords(line, TUNE.options)
    assert told.startswith('warning: budget="5s" is too small')
    assert 'Give budget="1m" or more' in told


def test_each_default_and_serving_requests_take_more_time() -> None:
    least_s = least_budget_s(ONE)
    assert least_budget_s(replace(ONE, run=replace(ONE.run, backends=("ort", "openvino")))) > least_s
    assert least_budget_s(replace(ONE, slo=ServiceLevel(99, 50))) > 2 * least_s
