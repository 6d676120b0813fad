"""Which graph each row runs: the precision that it holds, the level that wrote it, its shapes bound or dynamic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planned_groups import BOTH, FAKES, GRAPH, MLP, planned, rows

from irbench.core.record import Failure
from irbench.spec import Program, TensorSpec


def test_a_converted_graph_is_a_row_in_its_own_precision_once() -> None:
    backends, precisions = (("fake-a", "cpu"),), ("fp32", "bf16")
    (group,) = planned(backends=backends, precisions=precisions, variants=("none", "none-int8"))
    assert rows(group) == [("fake-a", "fp32"), ("fake-a+none-int8", "int8"), ("fake-a", "bf16")]


def test_a_graph_that_holds_another_precision_is_a_row_in_that_unless_one_is_asked_for() -> None:
    backends = (("fake-a", "cpu"), ("original", "cpu"))
    (own,) = planned(BOTH, precision="fp16", backends=backends, precisions=None)
    assert rows(own) == [("fake-a", "fp16"), ("original", "fp32")]
    (pinned,) = planned(BOTH, precision="fp16", backends=backends, precisions=("fp32",))
    assert rows(pinned) == [("fake-a", "fp32"), ("original", "fp32")]


@pytest.mark.parametrize(
    ("held", "asked", "variants", "required"),
    [
        ("fp32", None, ("none",), [True]),
        ("fp16", None, ("none", "basic"), [False, False]),
        ("native", None, ("none",), [False]),
        ("fp16", ("fp16",), ("none",), [True]),
        ("fp32", None, ("none", "none-int8"), [True, True]),
        ("fp16", None, ("none", "none-int8"), [False, True]),
    ],
)
def test_a_precision_is_required_unless_it_is_only_that_of_a_narrow_graph(
    held: str, asked: Any, variants: tuple[str, ...], required: list[bool]
) -> None:
    (group,) = planned(precision=held, backends=(("fake-a", "cpu"),), precisions=asked, variants=variants)
    assert [cell.load.precision_required for cell in group.group.cells] == required


def test_operators_of_a_vendor_keep_a_backend_from_a_graph_and_not_the_users_own_code() -> None:
    foreign = replace(GRAPH, variant="all", domains=("com.vendor",))
    code = Program("callable", "loop:infer")
    (group,) = planned(made={"all": foreign}, variants=("all",), backends=FAKES[:1], programs={"mine": code})
    assert set(group.absent) == {"fake-a-cpu-fp32-x1-all"}


def test_every_level_of_optimisation_is_a_row_of_the_backends_that_read_what_it_writes() -> None:
    written = replace(GRAPH, variant="all", domains=("com.vendor",))
    (group,) = planned(variants=("none", "all"), made={"all": written})
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-a+all", "fake-b", "fake-b+all"]
    refused = [failure.message for failure in group.absent.values()]
    assert refused == ["it does not read the operators of com.vendor that all writes"] * 2


def test_an_artifact_that_could_not_be_made_is_the_failure_of_its_rows_alone() -> None:
    broken = Failure("optimize", "The pass breaks mlp")
    (group,) = planned(variants=("none", "basic"), made={"basic": broken})
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-a+basic", "fake-b", "fake-b+basic"]
    assert [cell.label for cell in group.group.cells if cell.id in group.absent] == ["fake-a+basic", "fake-b+basic"]
    assert set(group.absent.values()) == {broken}
    assert group.group.baseline == "fake-a-cpu-fp32-x1"


def test_a_graph_whose_shapes_were_bound_can_also_run_as_the_file_has_it() -> None:
    (group,) = planned(variants=("none", "basic"))
    plain = {cell.id for cell in group.group.cells if cell.artifact is not None and not cell.artifact.variant}
    assert set(group.others) == plain
    for other in group.others.values():
        assert other.path == GRAPH.path
        assert other.inputs[0].shape == (1, 3)


def test_a_graph_without_dynamic_dimensions_has_no_other_form() -> None:
    fixed = replace(GRAPH, inputs=(TensorSpec("x", "float32", (1, 3)),))
    (group,) = planned(replace(MLP, artifacts=(fixed,)))
    assert group.others == {}


def test_a_sweep_has_a_row_with_bound_and_one_with_dynamic_shapes() -> None:
    (group,) = planned(sweep=("x", ((2, 3), (4, 3))), variants=("none", "basic"))
    rows = {cell.label: cell for cell in group.group.cells}
    assert list(rows) == [
        *("fake-a", "fake-a dynamic", "fake-a+basic"),
        *("fake-b", "fake-b dynamic", "fake-b+basic"),
    ]
    assert len({cell.id for cell in group.group.cells}) == 6
    dynamic = rows["fake-a dynamic"].artifact
    assert dynamic is not None
    assert (dynamic.path, dynamic.inputs[0].shape) == (GRAPH.path, (1, 3))
    assert group.others == {}
    assert group.group.baseline == rows["fake-a"].id
