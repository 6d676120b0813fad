"""A baseline is the row that was asked for, by any of the names it has, and otherwise the original framework's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_groups import BOTH, FAKES, MLP, QUANTISED, planned

from irbench.errors import IrbenchError


def test_the_original_framework_is_the_baseline_when_it_takes_part_and_the_first_row_otherwise() -> None:
    (with_original,) = planned(BOTH, backends=(("fake-a", "cpu"), ("original", "cpu")))
    (without,) = planned()
    assert with_original.group.baseline == "original-cpu-fp32-x1"
    assert without.group.baseline == "fake-a-cpu-fp32-x1"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("fake-b", "fake-b-cpu-fp32-x1"),
        ("fake-b@streams=2", "fake-b-cpu-fp32-x2"),
        ("fake-a@streams=2,precision=fp32", "fake-a-cpu-fp32-x2"),
        ("fake-b x2", "fake-b-cpu-fp32-x2"),
        ("fake-b@batch=1,threads=1", "fake-b-cpu-fp32-x1"),
    ],
)
def test_a_baseline_can_be_named_by_row_and_setting(asked: str, found: str) -> None:
    (group,) = planned(streams=(1, 2), baseline=asked)
    assert group.group.baseline == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("fake-b", "fake-b-cpu-fp32-x1-m0"),
        ("fake-b@model=quantised", "fake-b-cpu-fp32-x1-m1"),
        ("fake-a@model=quantised.onnx", "fake-a-cpu-fp32-x1-m1"),
        ("fake-a@model=/models/quantised.onnx,optimize=basic", "fake-a-cpu-fp32-x1-basic-m1"),
        ("fake-a@optimize=none,model=quantised", "fake-a-cpu-fp32-x1-m1"),
        ("fake-b+basic@model=mlp", "fake-b-cpu-fp32-x1-basic-m0"),
    ],
)
def test_a_baseline_can_be_named_by_its_model_and_its_level(asked: str, found: str) -> None:
    bundles = (MLP, replace(QUANTISED, source="/models/quantised.onnx"))
    (group,) = planned(bundles=bundles, variants=("none", "basic"), baseline=asked)
    assert group.group.baseline == found


def test_a_baseline_of_int8_is_found_where_the_graph_was_quantised_statically() -> None:
    (group,) = planned(variants=("none", "basic-int8-static"), baseline="fake-b@optimize=int8")
    assert group.group.baseline == "fake-b-cpu-int8-x1-basic-int8-static"


@pytest.mark.parametrize("asked", ["fake-c", "fake-a@model=other", "fake-a@optimize=all"])
def test_the_rows_that_a_baseline_may_be_are_named_by_what_tells_them_apart(asked: str) -> None:
    with pytest.raises(IrbenchError, match="not match any row") as caught:
        planned(bundles=(MLP, QUANTISED), backends=FAKES[:1], variants=("none", "basic"), baseline=asked)
    assert caught.value.hint == (
        "The rows are: fake-a@optimize=none,model=mlp, fake-a@optimize=basic,model=mlp,"
        " fake-a@optimize=none,model=quantised, fake-a@optimize=basic,model=quantised"
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("original", "not match any row"),
        ("fake-a@streams=3", "not match any row"),
        ("fake-a@colour=red", "not a valid row"),
        ("fake-a@streams", "not a valid row"),
        ("fake-a@optimize=some", "no level 'some'"),
    ],
)
def test_a_baseline_that_is_no_row_is_refused(asked: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said) as caught:
        planned(baseline=asked)
    assert caught.value.hint


def test_a_baseline_that_cannot_run_stays_the_one_that_was_asked_for() -> None:
    (group,) = planned(backends=(("original", "cpu"), *FAKES), baseline="original")
    assert group.group.baseline == "original-cpu-fp32-x1"
    assert "original-cpu-fp32-x1" in group.absent
