"""What a backend loses to another one is told where it is certain, and of the class that loses."""

from __future__ import annotations

import profiles
import pytest
from profiles import SCORES, cell, document, operator

from irbench.features.profile.derivation import derive_report
from irbench.features.profile.record import OperatorProfile
from irbench.features.profile.report import ProfileReport
from irbench.onnx.operator_classes import OperatorClass

MATRIX, NORMALISATION, MOVEMENT = OperatorClass.MATRIX, OperatorClass.NORMALISATION, OperatorClass.MOVEMENT


@pytest.fixture(scope="module")
def report() -> ProfileReport:
    return derive_report(profiles.example())


def test_a_loss_is_told_of_the_class_in_which_it_is_largest(report: ProfileReport) -> None:
    ort, openvino = report.headline
    assert ort.largest is MATRIX
    assert ort.excess is not None
    assert (ort.excess.operator_class, ort.excess.against) == (MATRIX, "openvino-cpu")
    assert ort.excess.time_ns == pytest.approx(14e6 - 9.5e6)  # Conv with Relu, and Gemm
    assert openvino.excess is None


def test_a_loss_within_nodes_that_a_third_backend_fuses_is_of_the_class_that_loses() -> None:
    def separate(softmax_ms: float) -> list[OperatorProfile]:
        return [
            operator("d", "Gemm", *[4.0] * 4, nodes=["head/dense"], shape=SCORES),
            operator("head/softmax", "Softmax", *[softmax_ms] * 4, nodes=["head/softmax"], shape=SCORES),
        ]

    fused = operator("fused", "Gemm", *[9.0] * 4, nodes=["head/dense", "head/softmax"], shape=SCORES)
    cells = [
        cell(label, operators, [20] * 4, [20] * 4)
        for label, operators in (("a", separate(9.0)), ("b", separate(1.0)), ("c", [fused]))
    ]
    first = derive_report(document(*cells)).headline[0]
    assert first.excess is not None
    assert (first.excess.operator_class, first.excess.time_ns) == (NORMALISATION, pytest.approx(8e6))


def test_a_fusion_is_no_loss_in_the_class_that_it_moves_work_to() -> None:
    before, after = derive_report(profiles.compared()).headline
    assert before.excess is not None
    assert (before.excess.operator_class, before.excess.inserted_ns) == (MOVEMENT, pytest.approx(3e6))
    assert before.excess.time_ns == pytest.approx(3e6)
    assert after.excess is None


def test_nothing_is_lost_in_operators_that_the_other_backend_does_not_tell() -> None:
    conv = operator("block/conv", "Conv", *[2.0] * 4, nodes=["block/conv"])
    more = operator("block/transpose", "Transpose", *[9.0] * 4, nodes=["block/transpose"])
    cells = (cell("a", [conv, more], [15] * 4, [15] * 4), cell("b", [conv], [15] * 4, [15] * 4))
    assert [facts.excess for facts in derive_report(document(*cells)).headline] == [None, None]


def test_a_loss_that_unknown_operators_of_the_other_may_explain_is_not_told() -> None:
    slow = [operator("block/conv", "Conv", *[9.0] * 4, nodes=["block/conv"])]
    fast = operator("block/conv", "Conv", *[2.0] * 4, nodes=["block/conv"])
    for unknown_ms, told in ((1.0, True), (8.0, False)):
        strange = operator("strange", "Subgraph", *[unknown_ms] * 4, shape=None)
        cells = (cell("a", slow, [15] * 4, [15] * 4), cell("b", [fast, strange], [15] * 4, [15] * 4))
        assert (derive_report(document(*cells)).headline[0].excess is not None) is told


@pytest.mark.parametrize(("launches", "told"), [(1, False), (3, False), (4, True)])
def test_a_loss_is_told_only_with_intervals(launches: int, told: bool) -> None:
    slow, fast = ([operator("block/conv", "Conv", *[time] * launches, nodes=["block/conv"])] for time in (9.0, 2.0))
    calls = [15.0] * launches
    report = derive_report(document(cell("a", slow, calls, calls), cell("b", fast, calls, calls)))
    assert (report.headline[0].excess is not None) is told


def test_a_loss_within_the_scatter_of_launches_is_not_told() -> None:
    scattered = [operator("block/conv", "Conv", 10, 14, 10, 14, nodes=["block/conv"])]
    steady = [operator("block/conv", "Conv", 11, 11, 11, 11, nodes=["block/conv"])]
    cells = (cell("a", scattered, [15] * 4, [15] * 4), cell("b", steady, [15] * 4, [15] * 4))
    assert [facts.excess for facts in derive_report(document(*cells)).headline] == [None, None]
