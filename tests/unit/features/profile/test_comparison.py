"""Two levels of optimisation of one backend: what a fusion moved."""

from __future__ import annotations

from dataclasses import replace

import profiles
import pytest

from irbench.features.profile.derivation import derive_report
from irbench.features.profile.report import Comparison
from irbench.onnx.operator_classes import OperatorClass


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    (found,) = derive_report(profiles.compared()).comparisons
    return found


def test_classes_are_compared_launch_by_launch_the_largest_change_first(comparison: Comparison) -> None:
    assert (comparison.before, comparison.after) == ("ort-cpu", "ort+extended-cpu")
    first = comparison.classes[0]
    assert first.operator_class is OperatorClass.MOVEMENT
    assert first.change_ns.value == pytest.approx(-3e6)
    assert first.change_ns.high < 0


def test_a_class_that_is_gone_has_no_time_after(comparison: Comparison) -> None:
    (gone,) = (change for change in comparison.classes if change.operator_class is OperatorClass.ELEMENTWISE)
    assert gone.before_ns is not None
    assert gone.after_ns is None
    assert gone.operators == (1, 0)


def test_a_fused_node_is_compared_with_the_nodes_whose_place_it_took(comparison: Comparison) -> None:
    (fused,) = (change for change in comparison.nodes if change.key == "block/conv")
    assert fused.kinds == (("Conv", "Relu"), ("FusedConv",))
    assert fused.before_ns is not None
    assert fused.after_ns is not None
    assert (fused.before_ns.value, fused.after_ns.value) == pytest.approx((12e6, 10.5e6))


def test_changes_of_the_parts_add_up_to_that_of_the_whole(comparison: Comparison) -> None:
    for changes in (comparison.classes, comparison.nodes):
        assert sum(change.change_ns.value for change in changes) == pytest.approx(comparison.total.change_ns.value)


def test_a_backend_that_failed_at_one_level_is_not_compared() -> None:
    document = profiles.compared()
    failed = replace(document.cells[1], launches=(), operators=(), failure=profiles.CRASH)
    assert derive_report(replace(document, cells=(document.cells[0], failed))).comparisons == ()
