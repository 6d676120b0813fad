"""The figures of a profile: of cells, classes, operators and nodes, of losses, of a GPU and of two levels."""

from __future__ import annotations

from dataclasses import replace

import profiles
import pytest
from profiles import SCORES, cell, document, operator

from irbench.features.profile.derivation import derive_report, node_groups
from irbench.features.profile.profile_document import OperatorProfile, ProfiledCell, decode_profile, encode_profile
from irbench.features.profile.report import (
    CellSummary,
    GpuParts,
    LevelComparison,
    NoSpeed,
    OperatorShare,
    PartRow,
    ProfileReport,
)
from irbench.onnx.operator_classes import OperatorClass

MATRIX, MOVEMENT, OVERHEAD = OperatorClass.MATRIX, OperatorClass.MOVEMENT, OperatorClass.OVERHEAD
NORMALISATION = OperatorClass.NORMALISATION


@pytest.fixture(scope="module")
def report() -> ProfileReport:
    return derive_report(profiles.example())


def row(report: ProfileReport, operator_class: OperatorClass) -> PartRow:
    (found,) = (row for row in report.classes if row.operator_class is operator_class)
    return found


def summary(report: ProfileReport, label: str) -> CellSummary:
    (found,) = (cell for cell in report.cells if cell.label == label)
    return found


@pytest.mark.parametrize("by", ["class", "op", "node"])
def test_the_parts_of_every_cell_add_up_to_the_time_of_its_operators(report: ProfileReport, by: str) -> None:
    for found in report.cells[:2]:
        parts = [row.figures[found.id] for row in report.rows(by) if found.id in row.figures]  # type: ignore[arg-type]
        assert found.sum_ns is not None
        assert sum(part.time_ns.value for part in parts) == pytest.approx(found.sum_ns.value)
        assert sum(part.share.value for part in parts) == pytest.approx(1)


def test_operators_and_what_lies_between_them_add_up_to_the_latency(report: ProfileReport) -> None:
    for found in report.cells[:2]:
        assert found.sum_ns
        assert found.between_ns
        assert found.latency_ns
        assert found.sum_ns.value + found.between_ns.value == pytest.approx(found.latency_ns.value)


def test_an_operator_counts_for_the_class_of_its_nodes_and_for_its_kind_without_any(report: ProfileReport) -> None:
    ort, openvino = (cell.id for cell in report.cells[:2])
    assert row(report, MATRIX).figures[ort].time_ns.value == pytest.approx(12e6)
    assert row(report, MATRIX).figures[openvino].time_ns.value == pytest.approx(9.5e6)
    assert row(report, MOVEMENT).figures[ort].time_ns.value == pytest.approx(4e6)
    assert row(report, MOVEMENT).figures[ort].inserted_ns == pytest.approx(3e6)
    assert openvino not in row(report, MOVEMENT).figures
    assert row(report, OVERHEAD).figures[ort].time_ns.value == pytest.approx(1e6)


def test_work_counts_once_and_gives_the_speed_of_a_class(report: ProfileReport) -> None:
    ort, openvino = (cell.id for cell in report.cells[:2])
    figures = row(report, MATRIX).figures
    assert figures[ort].flops == 231_211_008 + 4_096_000
    assert figures[openvino].flops == 231_211_008 + 200_704 + 4_096_000
    assert figures[ort].flops_per_s == pytest.approx(235_307_008 / 12e-3)
    assert row(report, MOVEMENT).figures[ort].flops is None
    assert row(report, MOVEMENT).figures[ort].flops_per_s is None


def test_products_attain_a_share_of_the_peak_of_their_machine_in_their_precision_with_their_threads() -> None:
    known = profiles.with_peaks(profiles.example())
    found = derive_report(known)
    ort, openvino = (cell.id for cell in found.cells[:2])
    assert row(found, MATRIX).figures[ort].peak_share == pytest.approx(235_307_008 / 12e-3 / 30e9)
    assert row(found, MATRIX).figures[openvino].peak_share is not None
    shares = {each.name: each.figures[ort].peak_share for each in found.operators if ort in each.figures}
    assert shares["Conv"] == pytest.approx(231_211_008 / 10e-3 / 30e9)
    assert shares["Relu"] is None
    assert row(found, MOVEMENT).figures[ort].peak_share is None


@pytest.mark.parametrize(
    "changes",
    [{"device": "gpu"}, {"effective": {"precision": "bf16", "threads": 2}}, {"effective": {"precision": "fp32"}}],
)
def test_there_is_no_share_without_a_peak_for_the_cell(changes: dict[str, object]) -> None:
    known = profiles.with_peaks(profiles.example())
    first = replace(known.cells[0], **changes)  # type: ignore[arg-type]
    for other in (replace(known, peaks=None), replace(known, cells=(first, *known.cells[1:]))):
        figures = row(derive_report(other), MATRIX).figures[first.id]
        assert figures.flops_per_s
        assert figures.peak_share is None


def test_there_is_no_share_where_some_work_is_not_counted() -> None:
    lost = operator("lost", "MatMul", 1.0, shape=None)
    conv = operator("block/conv", "Conv", 9.0, nodes=["block/conv"])
    kinds = {"ort": {"MatMul": MATRIX}}
    known = profiles.with_peaks(document(cell("ort", [conv, lost], [11], [11]), kinds=kinds))
    figures = row(derive_report(known), MATRIX).figures["ort-cpu"]
    assert figures.operators == 2
    assert figures.flops_per_s
    assert figures.peak_share is None


def test_a_node_that_several_operators_compute_counts_for_the_longest() -> None:
    parts = [operator(name, "Conv", time, nodes=["block/conv"]) for name, time in (("a", 1.0), ("b", 9.0))]
    report = derive_report(document(cell("ort", parts, [11], [11])))
    assert row(report, MATRIX).figures["ort-cpu"].flops == 231_211_008


def test_the_speed_of_a_class_leaves_out_the_time_of_operators_whose_work_is_unknown() -> None:
    conv = operator("block/conv", "Conv", 95, nodes=["block/conv"])
    lost = operator("lost", "MatMul", 5, shape=None)
    figures = row(derive_report(document(cell("ort", [conv, lost], [100], [100]))), MATRIX).figures["ort-cpu"]
    assert figures.time_ns.value == pytest.approx(100e6)
    assert figures.flops_per_s == pytest.approx(231_211_008 / 95e-3)


def test_operators_of_known_work_do_not_speak_for_a_class_in_which_they_take_little_time() -> None:
    conv = operator("block/conv", "Conv", 10, nodes=["block/conv"])
    lost = operator("lost", "MatMul", 90, shape=None)
    figures = row(derive_report(document(cell("ort", [conv, lost], [100], [100]))), MATRIX).figures["ort-cpu"]
    assert (figures.flops, figures.flops_per_s) == (231_211_008, None)


def test_all_operators_that_share_a_node_count_for_its_speed() -> None:
    parts = [operator(name, "Conv", time, nodes=["block/conv"]) for name, time in (("a", 4.0), ("b", 6.0))]
    report = derive_report(document(cell("ort", parts, [11], [11])))
    assert row(report, MATRIX).figures["ort-cpu"].flops_per_s == pytest.approx(231_211_008 / 10e-3)


def test_what_is_unmatched_keeps_its_time_and_its_share_is_told(report: ProfileReport) -> None:
    openvino = summary(report, "openvino")
    assert openvino.matched["unmatched"] == pytest.approx(0.5 / 10.5)
    assert openvino.matched["signature"] == pytest.approx(1.5 / 10.5)
    (strange,) = (row for row in report.nodes if row.name == "Subgraph")
    assert not strange.nodes
    assert strange.operator_class is OperatorClass.OTHER


def test_nodes_that_one_backend_fuses_are_one_row_of_all(report: ProfileReport) -> None:
    first = report.nodes[0]
    assert first.nodes == ("block/conv", "block/relu")
    assert (first.name, first.op_types) == ("block/conv", ("Conv", "Relu"))
    assert {figures.time_ns.value for figures in first.figures.values()} == {12e6, 8e6}


def test_the_nodes_that_differ_most_come_first_and_only_those_that_several_execute(report: ProfileReport) -> None:
    assert [row.key for row in report.differing(2)] == ["block/conv", "head/softmax"]
    assert all(len(row.figures) > 1 for row in report.differing(20))


def test_a_difference_has_an_interval_and_is_not_listed_within_it() -> None:
    first, second = (
        [
            operator("block/conv", "Conv", *conv, nodes=["block/conv"]),
            operator("d", "Gemm", *gemm, nodes=["head/dense"], shape=SCORES),
        ]
        for conv, gemm in (((9, 9, 9, 9), (4, 6, 4, 6)), ((5, 5, 6, 6), (4, 4, 4, 4)))
    )
    cells = cell("a", first, [15] * 4, [15] * 4), cell("b", second, [15] * 4, [15] * 4)
    (found,) = derive_report(document(*cells)).differing(20)
    assert found.key == "block/conv"
    difference = found.difference_ns
    assert difference.value == pytest.approx(3.5e6)
    assert difference.low < difference.value < difference.high
    assert difference.confidence == 0.95


def test_a_difference_below_what_runtimes_tell_is_not_listed() -> None:
    cells = [
        cell(label, [operator("block/conv", "Conv", time, nodes=["block/conv"])], [15], [15])
        for label, time in (("a", 1.0), ("b", 1.0004))
    ]
    assert derive_report(document(*cells)).differing(20) == ()


def test_shares_stay_between_0_and_1_however_launches_scatter() -> None:
    small = operator("block/conv", "Conv", 1, 1, 1, 5, nodes=["block/conv"])
    large = operator("d", "Gemm", *[40] * 4, nodes=["head/dense"], shape=SCORES)
    report = derive_report(document(cell("ort", [small, large], [50] * 4, [50] * 4)))
    for found in report.nodes:
        share = found.figures["ort-cpu"].share
        assert 0 <= share.low <= share.value <= share.high <= 1


def test_the_cost_of_profiling_is_the_ratio_of_the_latencies_launch_by_launch(report: ProfileReport) -> None:
    slowdown = summary(report, "ort").slowdown
    assert slowdown is not None
    assert (slowdown.value, slowdown.low) == pytest.approx((1.05, 1.05))


def test_a_cell_without_a_launch_has_its_reason_and_no_figures(report: ProfileReport) -> None:
    failed = summary(report, "tf")
    assert (failed.launches, failed.sum_ns, failed.failure) == (0, None, profiles.CRASH)
    assert all(failed.id not in row.figures for row in report.classes)
    assert [facts.cell for facts in report.headline] == ["ort-cpu", "openvino-cpu"]


def test_four_launches_give_intervals_and_fewer_a_range() -> None:
    operators = [operator("block/conv", "Conv", 9, 10, 12, nodes=["block/conv"])]
    report = derive_report(document(cell("ort", operators, [13] * 3, [13] * 3)))
    found = report.classes[0].figures["ort-cpu"].time_ns
    assert (found.value, found.low, found.high, found.confidence) == (10e6, 9e6, 12e6, None)
    assert report.cells[0].confidence is None
    assert derive_report(profiles.example()).cells[0].confidence == 0.95


def test_operators_that_run_at_the_same_time_are_told() -> None:
    operators = [operator("block/conv", "Conv", *[10.0] * 4), operator("head/dense", "Gemm", *[8.0] * 4, shape=SCORES)]
    (found,) = derive_report(document(cell("ort", operators, [12] * 4, [12] * 4))).cells
    assert found.overlaps
    assert not summary(derive_report(profiles.example()), "ort").overlaps


def test_a_profile_without_a_graph_is_counted_by_kind() -> None:
    report = derive_report(replace(profiles.example(), graphs={}))
    assert {row.operator_class for row in report.classes} >= {MATRIX, MOVEMENT}
    assert all(not row.nodes for row in report.nodes)


def test_a_part_of_a_product_belongs_to_its_node_and_to_the_class_of_its_own_kind() -> None:
    kinds = {"tf": {"Mul": OperatorClass.ELEMENTWISE, "_MklConv2D": MATRIX}}
    operators = [
        operator("conv", "_MklConv2D", *[8.0] * 4, nodes=["block/conv"]),
        operator("scale", "Mul", *[2.0] * 4, nodes=["block/conv"]),
    ]
    found = derive_report(document(cell("tf", operators, [11] * 4, [11] * 4), kinds=kinds))
    times = {row.operator_class: row.figures["tf-cpu"].time_ns.value for row in found.classes}
    assert times == {MATRIX: 8e6, OperatorClass.ELEMENTWISE: 2e6}
    (node,) = found.nodes
    assert node.figures["tf-cpu"].time_ns.value == 10e6
    assert {row.name for row in found.operators} == {"Conv", "Mul"}
    assert row(found, MATRIX).figures["tf-cpu"].flops == 231_211_008
    assert row(found, OperatorClass.ELEMENTWISE).figures["tf-cpu"].flops is None


def test_the_runtimes_own_operators_add_up_to_the_rows_of_several_backends() -> None:
    found = derive_report(profiles.fused_gelu(has_other=True))
    for joined in found.operators:
        for cell_id, figures in joined.figures.items():
            own = [part.figures[cell_id] for part in joined.parts if cell_id in part.figures]
            assert sum(part.time_ns.value for part in own) == pytest.approx(figures.time_ns.value)
    assert found.rows("op") == found.operators
    assert derive_report(profiles.fused_gelu()).rows("op") == derive_report(profiles.fused_gelu()).own_operators


def test_what_only_moves_data_does_not_keep_operators_of_two_backends_apart() -> None:
    moved = replace(profiles.NODES[2], name="moved")
    nodes = (*profiles.NODES[:2], moved)
    alone = [operator("a", "Relu", 2.0, nodes=["block/relu"])]
    fused = [operator("b", "fusion", 3.0, nodes=["block/relu", "moved"])]
    cells = cell("ort", alone, [3], [3]), cell("tf-xla", fused, [4], [4])
    (found,) = derive_report(document(*cells, graphs={"none": nodes})).operators
    assert found.name == "Relu"
    assert [(part.name, part.op_types) for part in found.below] == [
        ("fusion", ("Relu", "Transpose")),
        ("Relu", ("Relu",)),
    ]


def test_nodes_of_an_optimised_graph_are_compared_by_the_exported_ones_that_they_stand_for() -> None:
    found = derive_report(profiles.compared())
    (conv,) = (each for each in found.operators if each.name == "Conv")
    assert len(conv.figures) == 2
    assert [(part.name, part.op_types) for part in conv.below] == [("FusedConv", ("FusedConv",)), ("Conv", ("Conv",))]


def test_operators_that_backends_only_call_otherwise_have_no_rows_of_their_own_below() -> None:
    cells = [cell(kind, [operator("a", kind, 2.0, nodes=["block/relu"])], [3], [3]) for kind in ("Relu", "fusion")]
    (found,) = derive_report(document(*cells)).operators
    assert found.name == "Relu"
    assert len(found.parts) == 2
    assert found.below == ()


def test_the_operators_that_take_most_of_the_largest_class_are_named_beside_it() -> None:
    (facts,) = derive_report(profiles.sines()).headline
    assert facts.largest is OperatorClass.ELEMENTWISE
    (named,) = facts.operators
    assert named == OperatorShare("Sin", pytest.approx(0.84))


def test_a_class_without_a_speed_has_a_reason() -> None:
    conv = operator("block/conv", "Conv", 10, nodes=["block/conv"])
    lost = operator("lost", "MatMul", 90, shape=None)
    strange = operator("strange", "Subgraph", 5, shape=None)
    moved = operator("block/transpose", "Transpose", 5, nodes=["block/transpose"])
    shared = operator("again", "Strange", 1, nodes=["head/softmax"], shape=SCORES)
    longest = operator("head/softmax", "Softmax", 2, nodes=["head/softmax"], shape=SCORES)
    found = derive_report(document(cell("ort", [conv, lost, strange, moved, longest, shared], [120], [120])))
    reasons = {each.operator_class: each.no_speed("ort-cpu") for each in found.classes}
    expected: dict[OperatorClass, NoSpeed | None] = {
        MATRIX: "partly-known",
        OperatorClass.OTHER: "unknown-operations",
        MOVEMENT: "nothing-counted",
        OperatorClass.NORMALISATION: None,
    }
    assert reasons == expected
    by_kind = {each.name: each.no_speed("ort-cpu") for each in found.own_operators}
    assert by_kind["Strange"] == "counted-elsewhere"
    assert row(found, MATRIX).no_speed("elsewhere") is None


def test_an_operator_that_is_no_product_is_no_row_of_one_where_exported_nodes_are_traced_too_far() -> None:
    mask = replace(
        profiles.node("mask", "Where", OperatorClass.ELEMENTWISE, flops=1), original=("block/conv", "block/relu")
    )
    second = cell(
        "ort+all", [operator("mask", "Where", 1.0, nodes=["mask"])], [2], [2], level="extended", graph="extended"
    )
    found = derive_report(document(second, graphs={"none": profiles.NODES, "extended": (mask,)}))
    assert [(each.name, each.operator_class) for each in found.operators] == [("Where", OperatorClass.ELEMENTWISE)]


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


@pytest.fixture(scope="module")
def comparison() -> LevelComparison:
    (found,) = derive_report(profiles.compared()).comparisons
    return found


def test_classes_are_compared_launch_by_launch_the_largest_change_first(comparison: LevelComparison) -> None:
    assert (comparison.before, comparison.after) == ("ort-cpu", "ort+extended-cpu")
    first = comparison.classes[0]
    assert first.operator_class is OperatorClass.MOVEMENT
    assert first.change_ns.value == pytest.approx(-3e6)
    assert first.change_ns.high < 0


def test_a_class_that_is_gone_has_no_time_after(comparison: LevelComparison) -> None:
    (gone,) = (change for change in comparison.classes if change.operator_class is OperatorClass.ELEMENTWISE)
    assert gone.before_ns is not None
    assert gone.after_ns is None
    assert gone.operators == (1, 0)


def test_a_fused_node_is_compared_with_the_nodes_whose_place_it_took(comparison: LevelComparison) -> None:
    (fused,) = (change for change in comparison.nodes if change.key == "block/conv")
    assert fused.kinds == (("Conv", "Relu"), ("FusedConv",))
    assert fused.before_ns is not None
    assert fused.after_ns is not None
    assert (fused.before_ns.value, fused.after_ns.value) == pytest.approx((12e6, 10.5e6))


def test_changes_of_the_parts_add_up_to_that_of_the_whole(comparison: LevelComparison) -> None:
    for changes in (comparison.classes, comparison.nodes):
        assert sum(change.change_ns.value for change in changes) == pytest.approx(comparison.total.change_ns.value)


def test_a_backend_that_failed_at_one_level_is_not_compared() -> None:
    document = profiles.compared()
    failed = replace(document.cells[1], launches=(), operators=(), failure=profiles.CRASH)
    assert derive_report(replace(document, cells=(document.cells[0], failed))).comparisons == ()


ORDER = ("a", "b", "c", "d", "e")


def groups_of(*fused: tuple[str, ...]) -> set[tuple[str, ...]]:
    return set(node_groups(fused, ORDER).values())


def test_nodes_that_nobody_fuses_stay_alone() -> None:
    assert groups_of(("a",), ("b",), ("a",)) == {("a",), ("b",)}


def test_what_two_backends_fuse_differently_becomes_one_group_in_the_order_of_the_graph() -> None:
    assert groups_of(("b", "a"), ("c",), ("b", "c"), ("d",)) == {("a", "b", "c"), ("d",)}


def test_groups_that_a_later_operator_joins_become_one() -> None:
    assert groups_of(("a", "b"), ("c", "d"), ("d", "a")) == {("a", "b", "c", "d")}


def test_a_group_is_called_by_its_first_node_and_every_node_knows_it() -> None:
    groups = node_groups([("d", "b")], ORDER)
    assert {name: group[0] for name, group in groups.items()} == {"b": "b", "d": "b"}


def test_nodes_that_the_exported_graph_lacks_come_behind() -> None:
    assert groups_of(("new", "c")) == {("c", "new")}


def test_operators_without_nodes_make_no_group() -> None:
    assert node_groups([()], ORDER) == {}


def parts_of(cell: ProfiledCell) -> GpuParts:
    (found,) = derive_report(profiles.document(cell)).cells
    assert found.gpu is not None
    return found.gpu


def test_an_inference_on_the_cpu_has_no_times_of_a_gpu() -> None:
    (found,) = derive_report(profiles.document(profiles.ort())).cells
    assert found.gpu is None


def test_the_parts_add_up_to_the_latency() -> None:
    parts = parts_of(profiles.on_gpu())
    assert parts.kernels_ns is not None
    assert parts.waiting_ns is not None
    known = (parts.copy_in_ns, parts.kernels_ns, parts.waiting_ns, parts.copy_out_ns)
    assert sum(part.value for part in known) == pytest.approx(3.0e6)
    assert parts.waiting_ns.value == pytest.approx(0.6e6)
    assert parts.waiting_ns.confidence is not None
    assert parts.between_copies_ns.value == pytest.approx(2.7e6)
    assert parts.on_cpu.value == pytest.approx(0.02)


def test_without_kernels_the_wait_is_unknown_and_no_operator_is_summed_up() -> None:
    cell = profiles.on_gpu(has_kernels=False)
    parts = parts_of(cell)
    assert parts.kernels_ns is parts.waiting_ns is None
    assert parts.issuing_ns is not None
    assert parts.issuing_ns.value == pytest.approx(0.9e6)
    (found,) = derive_report(profiles.document(cell)).cells
    assert found.sum_ns is found.between_ns is None
    assert found.plain_ns is not None
    assert found.confidence is not None


def test_a_document_keeps_the_times_of_a_gpu() -> None:
    document = profiles.document(profiles.on_gpu(), profiles.on_gpu("b", has_kernels=False))
    assert decode_profile(encode_profile(document), "it") == document
