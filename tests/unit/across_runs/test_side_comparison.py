"""Two sides of stored runs: which rows match, what changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import pytest
from compared_runs import EVEN, MACHINE, store, times

from irbench.across_runs.changes import FEWEST_RUNS
from irbench.across_runs.checked_runs import Models, read_run
from irbench.across_runs.side_comparison import RunComparison, Side, compare_sides, read_side
from irbench.core.record import Failure
from irbench.options.conditions import read_condition
from irbench.spec import Goal, Objective, Program, PythonEnvironment


def side(name: str, *runs: Path) -> Side:
    read = [read_run(folder) for folder in runs]
    return Side(name, tuple(run for run, _ in read if run is not None), ())


def compared(
    root: Path,
    base: Mapping[str, Sequence[float]],
    new: Mapping[str, Sequence[float]],
    *conditions: str,
    base_facts: Mapping[str, Any] | None = None,
    new_facts: Mapping[str, Any] | None = None,
) -> RunComparison:
    before = side("before", store(root, base, **(base_facts or {})).folder)
    after = side("after", store(root, new, **(new_facts or {})).folder)
    return compare_sides(before, after, list(map(read_condition, conditions)), 0.02)


@pytest.mark.parametrize(("factor", "verdict"), [(1.1, "slower"), (0.9, "faster"), (1.001, "same")])
def test_a_row_has_the_verdict_that_its_launches_support(tmp_path: Path, factor: float, verdict: str):
    (row,) = compared(tmp_path, {"ort": EVEN}, {"ort": times(factor)}).rows
    assert row.verdict == verdict
    assert row.time.relative is not None
    assert row.time.relative.value == pytest.approx(factor - 1, abs=1e-6)
    assert row.time.relative.low < factor - 1 < row.time.relative.high
    assert (row.time.counted, row.time.base_count, row.time.new_count) == ("launches", 6, 6)


@pytest.mark.parametrize("objective", ["latency", "fps", "cost"])
def test_a_row_has_the_same_time_whatever_its_run_was_to_find(tmp_path: Path, objective: Objective):
    facts = {"table": {"goal": Goal(objective)}}
    (row,) = compared(
        tmp_path, {"ort": EVEN}, {"ort": EVEN}, base_facts={"batch": 8}, new_facts={"batch": 8, **facts}
    ).rows
    assert (row.verdict, row.time.base, row.time.new) == ("same", pytest.approx(10.01), pytest.approx(10.01))


def test_rows_on_other_cards_are_not_compared(tmp_path: Path):
    cards = [{"row": {"effective": {"gpu": name}}} for name in ("NVIDIA H100 80GB HBM3", "NVIDIA H200")]
    found = compared(tmp_path, {"ort": EVEN}, {"ort": EVEN}, base_facts=cards[0], new_facts=cards[1])
    assert [(each.kind, each.name, each.blocks) for each in found.differences] == [("machine", "GPU of ort", True)]


def test_a_difference_as_large_as_the_scatter_is_undecided(tmp_path: Path):
    (row,) = compared(tmp_path, {"ort": (10, 12, 9, 11)}, {"ort": (11, 13, 8, 12)}).rows
    assert row.verdict == "undecided"


def test_three_launches_are_a_preview_however_large_the_difference(tmp_path: Path):
    (row,) = compared(tmp_path, {"ort": EVEN[:3]}, {"ort": times(3)[:3]}, "p50>5%").rows
    assert row.verdict == "preview"
    assert row.conditions[0].outcome == "undecided"


def test_rows_that_only_one_side_has_are_listed(tmp_path: Path):
    found = compared(tmp_path, {"ort": EVEN, "tf": EVEN}, {"ort": EVEN, "openvino": EVEN})
    assert [row.name for row in found.rows] == ["ort"]
    assert {(row.name, row.in_base, row.in_new) for row in found.unmatched} == {
        ("tf", True, False),
        ("openvino", False, True),
    }


def test_one_model_of_each_side_is_compared_under_two_names(tmp_path: Path):
    found = compared(tmp_path, {"ort": EVEN}, {"ort": times(1.2)}, new_facts={"table": {"model": "tiny_2"}})
    assert [row.name for row in found.rows] == ["ort"]
    assert [(item.kind, item.base, item.new) for item in found.differences] == [("model", ("tiny",), ("tiny_2",))]


def test_other_sizes_are_other_rows(tmp_path: Path):
    found = compared(tmp_path, {"ort": EVEN}, {"ort": EVEN}, new_facts={"table": {"shapes": {"image": (1, 3, 9, 9)}}})
    assert found.rows == ()
    assert len(found.unmatched) == 2
    assert found.undecided


def test_a_changed_graph_is_a_difference_of_the_model(tmp_path: Path):
    found = compared(
        tmp_path, {"ort": EVEN}, {"ort": EVEN}, "size>0%", base_facts={"graph": "aa"}, new_facts={"graph": "bbb"}
    )
    assert [(item.kind, item.name) for item in found.differences] == [("model", "graph of ort")]
    assert [row.conditions[0].outcome for row in found.rows] == ["met"]
    assert not found.blocking


def test_a_regression_is_a_row_that_meets_a_condition(tmp_path: Path):
    found = compared(tmp_path, {"ort": EVEN, "tf": EVEN}, {"ort": times(1.2), "tf": EVEN}, "p50>5%", "fps<-30%")
    assert [row.name for row in found.regressions] == ["ort"]
    outcomes = {row.name: [checked.outcome for checked in row.conditions] for row in found.rows}
    assert outcomes == {"ort": ["met", "not-met"], "tf": ["not-met", "not-met"]}


def test_several_runs_of_both_sides_are_compared_run_by_run(tmp_path: Path):
    drifting = [store(tmp_path, {"ort": times(1 + 0.03 * number)}).folder for number in range(2 * FEWEST_RUNS)]
    found = compare_sides(side("before", *drifting[::2]), side("after", *drifting[1::2]), [], 0.02)
    (row,) = found.rows
    assert (row.time.counted, row.time.base_count, row.time.new_count) == ("runs", FEWEST_RUNS, FEWEST_RUNS)
    assert row.verdict == "undecided"
    one_each = compare_sides(side("before", drifting[0]), side("after", drifting[1]), [], 0.02)
    assert one_each.rows[0].verdict == "slower"  # launches alone cannot tell drift from a change


def test_of_a_side_only_runs_like_its_newest_count(tmp_path: Path):
    newer = {**MACHINE, "distributions": {"onnxruntime": "1.23.0"}}
    runs = [
        store(tmp_path, {"ort": times(5)}).folder,
        store(tmp_path, {"ort": EVEN}, environment=newer).folder,
        store(tmp_path, {"ort": EVEN}, environment=newer).folder,
    ]
    found = compare_sides(side("all", *runs), side("newest", runs[-1]), [], 0.02)
    assert len(found.rows[0].base_runs) == 2
    assert found.rows[0].verdict == "same"


@pytest.mark.parametrize(
    ("earlier", "newest"),
    [
        ({"plan": {"options": {"ort": {"call_us": "7"}}}}, {"plan": {"options": {"ort": {"call_us": "9"}}}}),
        ({"plan": {"cpus": [0]}}, {"plan": {"cpus": [0, 1]}}),
        ({"row": {"program": Program("command", "./loop")}}, {"row": {"program": Program("command", "./loop -O3")}}),
        (
            {"row": {"environment": PythonEnvironment("a", "", None, distributions={"onnxruntime": "1.22"})}},
            {"row": {"environment": PythonEnvironment("a", "", None, distributions={"onnxruntime": "1.23"})}},
        ),
    ],
    ids=["properties", "processors", "programs", "environments"],
)
def test_what_was_set_up_in_another_way_is_not_counted_and_is_listed(
    tmp_path: Path, earlier: dict[str, Any], newest: dict[str, Any]
):
    before = store(tmp_path, {"ort": times(5)}, **earlier).folder
    after = store(tmp_path, {"ort": EVEN}, **newest).folder
    found = compare_sides(side("both", before, after), side("after", after), [], 0.02)
    assert len(found.rows[0].base_runs) == 1
    apart = compare_sides(side("before", before), side("after", after), [], 0.02)
    assert len(apart.differences) == 1


def test_properties_of_another_backend_change_nothing(tmp_path: Path):
    before = store(tmp_path, {"ort": EVEN}, plan={"options": {"tf": {"a": "1"}}}).folder
    after = store(tmp_path, {"ort": EVEN}).folder
    found = compare_sides(side("both", before, after), side("after", after), [], 0.02)
    assert len(found.rows[0].base_runs) == 2


def test_rows_that_only_their_graphs_tell_apart_are_named_and_not_pooled(tmp_path: Path):
    writer, other = store(tmp_path, {"ort": EVEN}, graph="aa"), store(tmp_path, {"ort": EVEN}, graph="bb")
    tables = (*writer.document.groups, *other.document.groups)
    writer.commit(replace(writer.document, groups=tables, irbench_version="0"))
    both = read_side(str(writer.folder), tmp_path, tmp_path, lambda *_: None)
    assert [(problem.code, problem.facts) for problem in both.problems] == [("same-names", Models(("tiny",)))]
    found = compare_sides(side("one", other.folder), both, [], 0.02)
    assert (found.rows, [row.in_base and row.in_new for row in found.unmatched]) == ((), [True])


def test_a_row_that_failed_on_one_side_is_not_compared(tmp_path: Path):
    writer = store(tmp_path, {"ort": EVEN, "tf": EVEN})
    (table,) = writer.document.groups
    failed = replace(table.cells[1], state="failed", failure=Failure("run", "it failed"), latency_ms=None, fps=None)
    writer.commit(
        replace(writer.document, groups=(replace(table, cells=(table.cells[0], failed)),), irbench_version="0")
    )
    healthy = side("before", store(tmp_path, {"ort": EVEN, "tf": EVEN}).folder)
    found = compare_sides(healthy, side("after", writer.folder), [], 0.02)
    (other,) = found.unmatched
    assert other.in_base
    assert other.in_new


def test_a_change_of_p50_is_the_one_that_the_row_shows(tmp_path: Path):
    """Blocks that are fast and slow by turns: the median of all calls is that of whichever are more."""
    base, new = (
        [
            launches.launch(
                number,
                [
                    launches.measured(
                        "ort",
                        [
                            launches.synchronous(block, [(53 if block < slow else 10) * launches.MS] * 3)
                            for block in range(5)
                        ],
                    )
                ],
            )
            for number in range(4)
        ]
        for slow in (1, 3)
    )
    (row,) = compared(
        tmp_path,
        {"ort": EVEN[:4]},
        {"ort": EVEN[:4]},
        "p50>5%",
        "time>5%",
        base_facts={"records": base},
        new_facts={"records": new},
    ).rows
    assert row.time.relative is not None
    assert 0 < row.time.relative.value < 4  # of the medians of all calls, 10 ms and 53 ms, it is 4.3
    assert [checked.change for checked in row.conditions] == [row.time, row.time]
