"""Operator profiles in words, in tables and as traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import profiles
import pytest
from golden_files import check_golden
from profiles import SCORES, cell, document, operator

from irbench.features.profile.derivation import derive_report
from irbench.features.profile.launches import disturbance_warnings
from irbench.features.profile.profile_document import Disturbance, ProfileDocument
from irbench.features.profile.report import By
from irbench.features.profile.view import ProfileView
from irbench.features.profile.views.sentences import headline_lines
from irbench.onnx.operator_classes import OperatorClass


def view(document: ProfileDocument, by: By = "class", top: int = 20) -> ProfileView:
    return ProfileView(document, derive_report(document), by, top)


def text(document: ProfileDocument, width: int, by: By = "class", top: int = 20) -> str:
    return "\n".join(line.plain.rstrip() for line in view(document, by, top).as_lines(width)) + "\n"


@pytest.mark.parametrize(
    ("name", "width", "by"),
    [("class-120", 120, "class"), ("class-80", 80, "class"), ("op", 80, "op"), ("node", 80, "node")],
)
def test_a_profile_looks_as_it_was_looked_at(name: str, width: int, by: By) -> None:
    check_golden(f"profile-{name}", text(profiles.example(turn=1), width, by))


def test_several_inputs_are_named_as_costs_name_them() -> None:
    several = replace(profiles.example(), shapes={"tokens": (1, 64), "mask": (1, 64)})
    assert "  tokens 1x64, mask 1x64 · " in text(several, 120).splitlines()[0]


def test_speeds_have_their_share_of_the_peak_where_it_is_known() -> None:
    check_golden("profile-peaks", text(profiles.with_peaks(profiles.example(turn=1)), 80))
    assert "of peak" not in text(profiles.example(), 80)


def test_versions_that_the_peaks_were_not_measured_with_are_told() -> None:
    known = profiles.with_peaks(profiles.example())
    cells = tuple(replace(each, effective={**each.effective, "version": "2.0"}) for each in known.cells)
    assert known.peaks is not None
    measured = replace(known, cells=cells, peaks=replace(known.peaks, versions={"ort": "1.9", "openvino": "2.0"}))
    assert "measured 2026-01-31 (irbench doctor) with ort 1.9 (here 2.0)." in " ".join(text(measured, 100).split())
    assert "(here" not in text(known, 100)


def test_a_gpu_has_a_table_of_its_own() -> None:
    shown = document(profiles.on_gpu(), profiles.on_gpu("ort:cuda+basic", has_kernels=False), profiles.ort())
    check_golden("profile-gpu", text(shown, 100))
    assert "ms on the GPU" not in text(profiles.example(), 100)


def test_a_gpu_whose_kernels_nobody_records_has_no_operators_and_says_why() -> None:
    shown = text(document(profiles.on_gpu(has_kernels=False)), 300)
    assert "its runtime records no kernels of the GPU" in shown
    assert "of the 2.70 ms between them the host takes 0.900 ms to hand over work." in shown
    assert "of its operators' time" not in shown
    assert " in kernels, " not in shown
    assert "ort:cuda: 1 of 5 nodes ran on the CPU, 2 % of the latency." in shown


def test_two_levels_look_as_they_were_looked_at() -> None:
    check_golden("profile-compare", text(profiles.compared(), 80))


def test_markdown_has_every_column_and_sentence() -> None:
    check_golden("profile-md", view(profiles.example(turn=1)).as_markdown())


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal_however_many_backends_there_are(width: int) -> None:
    one = profiles.openvino()
    many = tuple(replace(one, id=f"{number}", label=f"openvino+extended{number}") for number in range(6))
    shown = text(document(*many, kinds=profiles.KINDS), width)
    assert all(f"openvino+extended{number}" in shown for number in range(6))
    assert max(map(len, text(profiles.example(), width).splitlines())) <= width
    assert max(map(len, shown.splitlines())) <= width
    known = text(profiles.with_peaks(document(*many, kinds=profiles.KINDS)), width)
    is_hidden = any(line.startswith("hidden") and "of peak" in line for line in known.splitlines())
    assert is_hidden != (known.count("of peak") > 6)
    assert max(map(len, known.splitlines())) <= width


def test_rows_beyond_the_first_few_are_added_up_and_not_dropped() -> None:
    shown = text(profiles.example(), 100, "node", top=1)
    (others,) = (line for line in shown.splitlines() if line.startswith("all others"))
    assert others.split() == ["all", "others", "7.00", "2.50"]


def test_a_preview_is_called_one() -> None:
    operators = [operator("block/conv", "Conv", 9, 10, nodes=["block/conv"])]
    two = text(document(cell("ort", operators, [13] * 2, [13] * 2)), 100)
    assert "the range over 2 launches, in percentage points: a preview" in two
    alone = [operator("block/conv", "Conv", 9, nodes=["block/conv"])]
    assert "A single launch: a preview" in text(document(cell("ort", alone, [13], [13])), 100)


def test_what_plus_minus_means_is_said_of_each_backend_where_launches_differ() -> None:
    cells = [
        cell(
            label, [operator("block/conv", "Conv", *times, nodes=["block/conv"])], [13] * len(times), [13] * len(times)
        )
        for label, times in (("a", (9, 10, 11, 12)), ("b", (9, 10)), ("c", (9,)))
    ]
    assert (
        "±: the 95 % confidence interval over 4 launches of a; the range over 2 launches of b; none of c, a single"
        " launch, in percentage points: a preview; intervals take 4 launches."
    ) in text(document(*cells), 500)


def test_a_share_whose_interval_ends_at_nothing_has_its_ends_told() -> None:
    small = operator("block/conv", "Conv", 1, 1, 1, 5, nodes=["block/conv"])
    large = operator("d", "Gemm", *[40] * 4, nodes=["head/dense"], shape=SCORES)
    shown = text(document(cell("ort", [small, large], [50] * 4, [50] * 4)), 100, "node")
    line = next(line for line in shown.splitlines() if line.startswith("block/conv"))
    assert "2 [0, " in line


def test_how_exactly_a_runtime_tells_times_is_said() -> None:
    known = cell("openvino", [operator("a", "Conv", 9.0)], [10], [10])
    rounded = replace(known, launches=(replace(known.launches[0], uncertainty_ns=1_500),))
    assert "the time of each operator is known to ±1.5 us" in text(document(rounded), 120)
    assert "rounds" not in text(document(known), 120)


def test_operators_that_overlap_are_told() -> None:
    operators = [operator(name, "Conv", *[10.0] * 4) for name in ("a", "b")]
    assert "ort: operators ran at the same time" in text(document(cell("ort", operators, [12] * 4, [12] * 4)), 100)


def _headlines(found: ProfileDocument) -> Iterator[str]:
    return headline_lines(found, derive_report(found))


def test_time_between_operators_is_said_first_where_it_matters() -> None:
    operators = [operator("block/conv", "Conv", *[10.0] * 4, nodes=["block/conv"])]
    _, gap = _headlines(document(cell("ort", operators, [100] * 4, [99] * 4)))
    assert gap.startswith("ort spends 100 % of its operators' time in matrix products")
    assert gap.endswith("; 90.0 of 100 ms lie between operators.")
    _, none = _headlines(document(cell("ort", operators, [10.4] * 4, [10.4] * 4)))
    assert "between" not in none


def test_operators_that_overlap_are_said_first() -> None:
    operators = [operator(name, "Conv", *[10.0] * 4) for name in ("a", "b")]
    _, said = _headlines(document(cell("ort", operators, [12] * 4, [12] * 4)))
    assert said.endswith("; operators run at the same time, 20.0 ms of them in 12.0 ms.")


def test_plain_latencies_are_said_first_and_who_is_fastest_only_where_that_is_certain() -> None:
    first, *_ = _headlines(profiles.example())
    assert first == "Without profiling openvino takes 10.8 ms, ort 20.0 ms: openvino is fastest."
    operators = [operator("block/conv", "Conv", *[10.0] * 4, nodes=["block/conv"])]
    alike = [cell(label, operators, [13] * 4, [12, 13, 13, 14]) for label in ("a", "b")]
    first, *_ = _headlines(document(*alike))
    assert first == "Without profiling a takes 13.0 ms, b 13.0 ms."


def test_who_is_fastest_beside_other_programs_is_said_with_them() -> None:
    busy = Disturbance(wall_ns=10**9, foreign_cpu_ns=10**9, processors=2)
    found = profiles.example()
    cells = tuple(
        replace(each, launches=tuple(replace(launch, disturbance=busy) for launch in each.launches))
        for each in found.cells
    )
    first, *_ = _headlines(replace(found, cells=cells, warnings=tuple(disturbance_warnings(cells))))
    assert first.endswith(": openvino is fastest beside the other programs that ran, and irbench run tells more.")


def test_where_profiling_costs_much_nothing_is_lost_and_no_speed_is_told_in_words() -> None:
    costly = profiles.ort()
    launches = tuple(replace(launch, plain_ns=(5_700_000,) * 20) for launch in costly.launches)
    first, ort, _ = _headlines(document(replace(costly, launches=launches), profiles.openvino(), kinds=profiles.KINDS))
    assert first == "Without profiling ort takes 5.70 ms, openvino 10.8 ms: ort is fastest."
    assert ort.endswith("; these are times of a profiled run, which takes 3.7 times as long.")
    assert "loses" not in ort
    assert "GFLOP/s" not in ort
    _, ort, _ = _headlines(profiles.example())
    assert "loses" in ort
    assert "profiled run" not in ort


def test_a_cost_of_profiling_that_is_certainly_below_1_is_called_noise() -> None:
    operators = [operator("block/conv", "Conv", *[10.0] * 4, nodes=["block/conv"])]
    noise = "ort: a cost of profiling below 1 is noise"
    assert noise in text(document(cell("ort", operators, [12] * 4, [13] * 4)), 100)
    assert noise not in text(document(cell("ort", operators, [12, 12, 12, 14], [13] * 4)), 100)


def test_a_cost_of_profiling_below_1_is_marked_wherever_it_is_printed() -> None:
    operators = [operator("block/conv", "Conv", *[10.0] * 4, nodes=["block/conv"])]
    faster = text(document(cell("ort", operators, [12, 12, 12, 14], [13] * 4)), 100)
    assert faster.count("0.92x (noise)") == 1
    assert faster.count("(noise)") == 2
    assert "(noise)" not in text(document(cell("ort", operators, [13] * 4, [13] * 4)), 100)


def test_a_busy_machine_is_warned_of_below_the_tables() -> None:
    def shown(foreign_ms: int, processors: int) -> str:
        evidence = Disturbance(1_000_000_000, 1_000_000 * foreign_ms, processors)
        ort = profiles.ort()
        launches = tuple(replace(launch, disturbance=evidence) for launch in ort.launches)
        found = document(replace(ort, launches=launches), profiles.openvino(), kinds=profiles.KINDS)
        return text(replace(found, warnings=tuple(disturbance_warnings(found.cells))), 200)

    warning = "warning: Other programs used 40 % of a processor. Close other programs"
    assert shown(400, 2).count(warning) == 1
    assert "warning" not in shown(400, 32)
    assert "warning" not in shown(40, 2)


def test_the_runtime_s_own_work_is_no_node() -> None:
    nodes = text(profiles.example(), 100, "node", top=2)
    assert "SequentialExecutor" not in nodes
    lines = nodes.splitlines()
    (own,) = (place for place, line in enumerate(lines) if line.startswith("runtime's own"))
    assert lines[own - 1].startswith("all others")
    assert lines[own].split()[2:] == ["1.00", "5", "-"]
    assert lines[own + 1].startswith("sum of operators")
    _, changed = text(profiles.compared(), 100).split("The nodes that changed most:")
    assert "SequentialExecutor" not in changed


def test_how_many_nodes_are_fused_with_one_is_explained_where_it_is_shown() -> None:
    assert "+1: with 1 other node that a backend fuses with it." in text(profiles.example(), 100, "node")
    assert "+1: with" in text(profiles.example(), 100)  # the nodes that differ have it
    alone = document(profiles.ort())
    assert "+1" not in text(alone, 100, "node")
    names = [node.name for node in profiles.NODES]
    fused = [operator("a", "Conv", *[9.0] * 4, nodes=names[:3]), operator("b", "Gemm", *[9.0] * 4, nodes=names[3:])]
    shown = text(document(cell("ort", fused, [20] * 4, [20] * 4)), 100, "node")
    assert "+1, +2: with so many other nodes that a backend fuses with it." in shown


def test_long_names_keep_their_last_scopes() -> None:
    long = "model/" + "/".join(f"scope{number}" for number in range(9)) + "/Tensordot/MatMul"
    nodes = (replace(profiles.NODES[0], name=long),)
    operators = [operator("a", "Conv", *[1.0] * 4, nodes=[long])]
    shown = text(replace(document(cell("ort", operators, [2] * 4, [2] * 4)), graphs={"none": nodes}), 80, "node")
    assert "…/scope6/scope7/scope8/Tensordot/MatMul" in shown
    assert long not in shown


def test_a_name_is_broken_behind_its_scopes_where_columns_need_the_room() -> None:
    lines = text(profiles.alike_names(), 42, "node").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("…/"))
    assert [line.split("  ")[0] for line in lines[first : first + 2]] == [
        "…/transformer_layer_0/…/",
        "Tensordot/MatMul",
    ]


def test_small_operators_below_a_row_are_added_up() -> None:
    nodes = profiles.NODES[:2]
    kinds = {"a": 50.0, "b": 48.0, "c": 0.5, "d": 0.4}
    own = [operator(kind, kind, time, nodes=["block/conv", "block/relu"]) for kind, time in kinds.items()]
    plain = cell("ort", [operator("block/conv", "Conv", 90.0, nodes=["block/conv"])], [99], [99])
    shown = text(document(plain, cell("tf", own, [99], [99]), graphs={"none": nodes}), 100, "op")
    (others,) = (line for line in shown.splitlines() if line.startswith("· 2 others"))
    assert others.split()[3:] == ["0.000", "0.900"]


def test_operators_of_one_name_in_two_classes_are_told_apart() -> None:
    inserted = operator("lost", "Mul", 2.0, shape=None)
    own = operator("run", "Mul", 1.0, is_overhead=True, shape=None)
    names = [
        line.split("  ")[0] for line in text(document(cell("tf", [inserted, own], [9], [9])), 100, "op").splitlines()
    ]
    assert {"Mul, elementwise", "Mul, runtime's own"} <= set(names)


def test_an_operator_of_many_nodes_names_a_few_of_their_types() -> None:
    kinds = ("Add", "Div", "Erf", "Mul", "Neg", "Sin", "Tan")
    nodes = tuple(profiles.node(kind, kind, OperatorClass.ELEMENTWISE, flops=1) for kind in kinds)
    own = cell("tf-xla", [operator("a", "fusion", 2.0, nodes=kinds)], [3], [3])
    lines = text(document(own, graphs={"none": nodes}), 100, "op").splitlines()
    assert [
        line.split("  ")[-1] for line in lines if line.startswith("fusion (Add, Div, Erf, Mul, Neg, 2 more)  ")
    ] == [
        "100",
        "<0.001",
    ]


def test_a_node_that_changed_within_the_scatter_is_not_listed() -> None:
    found = profiles.compared()
    first = replace(found.cells[0], operators=tuple(
        replace(done, duration_ns=(900_000, 1_200_000, 800_000, 1_100_000)) if done.name == "head/softmax" else done
        for done in found.cells[0].operators
    ))  # fmt: skip
    _, nodes = text(replace(found, cells=(first, *found.cells[1:])), 100).split("The nodes that changed most:")
    assert "softmax" not in nodes
    assert "block/conv" in nodes
