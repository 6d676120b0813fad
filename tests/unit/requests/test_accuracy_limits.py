"""How good outputs must be: what is written for it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.core.output_check import tolerance
from irbench.errors import IrbenchError
from irbench.options.own_code import Metric, metric, metric_text, min_accuracy
from irbench.options.run import RunOptions, run_options
from irbench.requests.accuracy_limits import accuracy_limit, options_of_limit
from irbench.spec import AccuracyLimit

OWN = "irbench.core.output_check:tolerance"


def asked(**options: Any) -> AccuracyLimit | None:
    return accuracy_limit(RunOptions(**options))


@pytest.mark.parametrize(("given", "share"), [("99%", 0.99), ("99.5 %", 0.995), ("0.9", 0.9), (0.9, 0.9), (1, 1.0)])
def test_a_share_is_a_percentage_or_a_number(given: str | float, share: float) -> None:
    assert min_accuracy(given) == pytest.approx(share)


@pytest.mark.parametrize("given", ["all", "99 percent", "nan", True, None])
def test_anything_else_is_no_share(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        min_accuracy(given)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("metrics.py:map50>=0.9", Metric("metrics.py:map50", "at-least", 0.9)),
        ("package.metrics:error <= 1e-3", Metric("package.metrics:error", "at-most", 0.001)),
        ("metrics.py:map50", Metric("metrics.py:map50")),
        ((tolerance, "<=0.1"), Metric(OWN, "at-most", 0.1)),
        (tolerance, Metric(OWN)),
    ],
)
def test_a_measure_is_a_function_with_its_limit(given: Any, read: Metric) -> None:
    assert metric(given) == read


@pytest.mark.parametrize(
    "given",
    ["map50>=0.9", "./program>=0.9", "m.py:fn>0.9", "m.py:fn==1", "m.py:fn>=high", "m.py:fn>=inf", lambda a, b: 1.0, 3],
    ids=lambda given: "lambda" if callable(given) else str(given),  # the address of a function differs in each process
)
def test_a_text_without_a_function_and_a_function_that_no_process_finds_are_refused(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        metric(given)


def test_a_limit_is_that_of_either_option() -> None:
    assert asked() is None
    assert asked(min_accuracy=0.99) == AccuracyLimit(0.99)
    assert asked(metric=Metric(OWN, "at-most", 0.1)) == AccuracyLimit(0.1, "at-most", OWN)
    assert asked(metric=Metric(OWN), min_accuracy=30.0) == AccuracyLimit(30.0, "at-least", OWN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_accuracy": 99.0}, "no share of samples"),
        ({"min_accuracy": 0.0}, "no share of samples"),
        ({"metric": Metric(OWN)}, "no limit"),
        ({"metric": Metric(OWN, "at-least", 0.9), "min_accuracy": 0.9}, "two limits"),
        ({"metric": Metric("gone.py:fn", "at-least", 0.9)}, "no file gone.py"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_with_the_way_out(options: dict[str, Any], message: str) -> None:
    with pytest.raises(IrbenchError, match=message) as caught:
        asked(**options)
    assert caught.value.hint


@pytest.mark.parametrize(
    "limit", [AccuracyLimit(0.99), AccuracyLimit(0.1, "at-most", OWN), AccuracyLimit(1 / 3, "at-least", OWN)]
)
def test_the_options_of_a_limit_ask_for_the_same_limit(limit: AccuracyLimit) -> None:
    ((name, value),) = options_of_limit(limit).items()
    keywords: Any = {name.removeprefix("--").replace("-", "_"): value}
    assert accuracy_limit(run_options((), keywords)) == limit


def test_a_measure_is_written_as_it_is_read() -> None:
    assert metric(metric_text(Metric("m.py:fn", "at-most", 0.25))) == Metric("m.py:fn", "at-most", 0.25)


@pytest.mark.parametrize(("bound", "kept", "better"), [("at-least", 0.9, 0.95), ("at-most", 0.9, 0.5)])
def test_a_limit_is_kept_by_its_own_value_and_by_better_ones(bound: Any, kept: float, better: float) -> None:
    limit = AccuracyLimit(0.9, bound)
    assert limit.allows(kept)
    assert limit.allows(better)
    assert limit.is_better(better, kept)
    assert not limit.allows(2 * kept - better)
