"""The search keeps what is needed, leaves out the rest, and asks little."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import speedup
from hypothesis import given
from hypothesis import strategies as st
from reductions import CHAIN, SLOWER, Judge, evidence

from irbench.api.display import as_text
from irbench.core.graph_record import Uncuttable
from irbench.errors import IrbenchError
from irbench.features.reduce import cutting, search
from irbench.features.reduce.cutting import Cut, CutRequest, GraphPart
from irbench.features.reduce.options import ReduceOptions
from irbench.features.reduce.report import (
    ExpectedDifference,
    Reduction,
    ReductionReport,
    TensorFacts,
    TriedPart,
    Verdict,
)
from irbench.features.reduce.search import Nodes, Reducer, smallest
from irbench.features.reduce.search_facts import (
    BudgetTooShort,
    Confirming,
    SearchBegun,
    SearchContinued,
    SearchFact,
    WholeTried,
)
from irbench.features.reduce.speed import interval_seconds
from irbench.features.reduce.view import conclusion_text
from irbench.options.run import RunOptions


def asking(needed: set[int]) -> tuple[list[Nodes], Callable[[Nodes], bool]]:
    """Return what was asked, and a judge that sees the difference wherever all needed nodes are."""
    asked: list[Nodes] = []

    def shows(nodes: Nodes) -> bool:
        asked.append(nodes)
        return needed <= set(nodes)

    return asked, shows


@pytest.mark.parametrize("needed", [{0}, {77}, {121}, {60, 61}, {10, 100}, {0, 60, 121}])
def test_the_nodes_that_are_needed_are_left(needed: set[int]):
    asked, shows = asking(needed)
    assert set(smallest(tuple(range(122)), {}, shows)) == needed
    assert len(asked) == len(set(asked)), "nothing is tried twice"


def test_one_slow_node_is_found_in_about_as_many_questions_as_halving_takes():
    asked, shows = asking({77})
    smallest(tuple(range(122)), {}, shows)
    assert len(asked) <= 14


def test_a_graph_of_one_node_is_the_smallest():
    asked, shows = asking({0})
    assert smallest((0,), {}, shows) == (0,)
    assert asked == []


def test_of_parts_that_all_show_it_that_with_the_smallest_weights_is_left():
    sizes = {0: 100, 1: 100, 2: 1, 3: 100}
    assert smallest((0, 1, 2, 3), sizes, lambda _: True) == (2,)


def test_parts_stay_in_the_order_of_the_graph():
    _, shows = asking({3, 90, 40})
    assert smallest(tuple(range(100)), {}, shows) == (3, 40, 90)


def test_what_the_judge_raises_ends_the_search():
    def shows(_: Nodes) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        smallest((0, 1), {}, shows)


@given(st.integers(1, 40), st.data())
def test_no_node_of_the_result_can_be_left_out(count: int, data: st.DataObject):
    alternatives = data.draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), min_size=1, max_size=3))

    def shows(nodes: Nodes) -> bool:
        return any(needed <= set(nodes) for needed in alternatives)

    every = tuple(range(count))
    if not shows(every):
        return
    left = smallest(every, {}, shows)
    assert shows(left)
    assert not any(shows(tuple(node for node in left if node != gone)) for gone in left if len(left) > 1)


@pytest.fixture(autouse=True)
def cut_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the places of kept nodes in place of a graph."""

    def call(target: str, argument: Any, **_: Any) -> Any:
        if target.endswith(":outline_of"):
            return CHAIN
        cuts = map(cut, argument)
        return tuple((made, None) if isinstance(made, GraphPart) else (None, made) for made in cuts)

    def cut(argument: CutRequest) -> Cut:
        if argument.kept == (0, 1, 2, 3):
            return Uncuttable("no-tensor", "v4")
        model, data = argument.folder / "reduced.onnx", argument.folder / "inputs.npz"
        model.write_text(" ".join(map(str, argument.kept)))
        data.write_text("")
        return GraphPart(model, data, (TensorFacts("v0", "float32", (2,)),), (TensorFacts("v8", "float32", (2,)),), 10)

    monkeypatch.setattr(cutting, "call_in_worker", call)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def reduced(judge: Judge, scratch: Path, **changes: Any) -> tuple[ReductionReport, list[SearchFact]]:
    told: list[SearchFact] = []
    options = ReduceOptions("whole.onnx", expect=SLOWER, output=scratch.parent / "found", **changes)
    return Reducer(options, judge, scratch, told.append).reduced(), told


def test_the_smallest_part_is_written_and_told(scratch: Path):
    report, told = reduced(Judge({2, 6}), scratch)
    assert report.conclusion == "reduced"
    assert report.reduced is not None
    assert [node.name for node in report.reduced.nodes] == ["n2", "n6"]
    assert report.folder is not None
    assert (Path(report.folder) / "reduced.onnx").read_text() == "2 6"
    assert report.repeat[:3] == ("irbench", "run", "reduced.onnx")
    assert report.full is not None
    assert told[0] == WholeTried(report.full, "shows")
    uncuttable = TriedPart(4, "other", uncuttable=Uncuttable("no-tensor", "v4"))
    assert uncuttable in report.candidates
    assert uncuttable in told
    assert report.reduced.without_one_node == {"absent": 2}
    assert not list(scratch.glob("part-*-runs"))
    assert Reduction(report).exit_code == 0


@pytest.mark.parametrize(("whole", "conclusion", "code"), [("absent", "absent", 1), ("undecided", "undecided", 4)])
def test_a_graph_that_does_not_show_it_is_not_searched(whole: Verdict, conclusion: str, code: int, scratch: Path):
    judge = Judge({2}, whole)
    report, _ = reduced(judge, scratch)
    assert report.conclusion == conclusion
    assert judge.seen == 0
    assert report.folder is None
    assert Reduction(report).exit_code == code
    assert conclusion_text(report) == as_text(Reduction(report).__rich__()).splitlines()[2]
    assert conclusion_text(report) in Reduction(report).to_text("md").splitlines()[0]


def test_something_else_that_the_whole_graph_shows_is_an_error(scratch: Path):
    with pytest.raises(IrbenchError, match="it crashed") as caught:
        reduced(Judge({2}, "other"), scratch)
    assert "--expect-failure" in caught.value.hint


def test_an_interrupt_keeps_the_smallest_part_until_then(scratch: Path):
    report, _ = reduced(Judge({7}, stop_at=3), scratch)
    assert report.conclusion == "interrupted"
    assert report.reduced is not None
    assert (scratch.parent / "found" / "reduced.onnx").exists()
    assert report.reduced.confirmation is None
    assert Reduction(report).exit_code == 130


def test_an_interrupt_before_any_part_shows_it_writes_nothing(scratch: Path):
    report, _ = reduced(Judge({7}, stop_at=1), scratch)
    assert (report.conclusion, report.folder, report.reduced) == ("interrupted", None, None)


def test_where_every_node_is_needed_there_is_no_smaller_graph(scratch: Path):
    report, _ = reduced(Judge(set(range(8))), scratch)
    assert (report.conclusion, report.reduced) == ("whole", None)


def test_time_that_is_used_up_ends_the_search_with_what_was_found(scratch: Path, monkeypatch: pytest.MonkeyPatch):
    judge = Judge({7})
    monkeypatch.setattr(Reducer, "_left_for_parts_s", lambda _: 100.0 if judge.seen < 2 else 0.0)
    report, _ = reduced(judge, scratch)
    assert report.conclusion == "stopped"
    assert report.reduced is not None


def test_a_part_that_does_not_show_it_again_gives_way_to_the_next_larger_one(scratch: Path):
    judge = Judge({7}, confirmed=lambda kept: "shows" if len(kept) > 1 else "absent")
    report, _ = reduced(judge, scratch)
    assert report.reduced is not None
    assert len(report.reduced.nodes) == 2
    assert (report.reduced.confirmation, report.not_confirmed) == ("shows", 1)


def test_the_search_goes_on_where_the_smallest_part_was_refuted(scratch: Path):
    """Node 7 alone shows it at first only: with 4 it really does, with 5 or 6 it does not."""
    judge = Judge({7}, confirmed=lambda kept: "shows" if {4, 7} <= kept else "absent")
    report, told = reduced(judge, scratch)
    assert report.reduced is not None
    assert [node.name for node in report.reduced.nodes] == ["n4", "n7"]
    assert report.reduced.without_one_node == {"absent": 2}, "both nodes were left out alone"
    assert report.not_confirmed > 1
    assert SearchContinued(2) in told


def test_after_a_refutation_without_time_nothing_is_said_to_be_needed(scratch: Path, monkeypatch: pytest.MonkeyPatch):
    left_s = iter([100.0] * 4)
    monkeypatch.setattr(Reducer, "_left_for_parts_s", lambda _: next(left_s, 0.0))
    report, _ = reduced(Judge({7}, confirmed=lambda kept: "shows" if len(kept) > 1 else "absent"), scratch)
    assert report.conclusion == "stopped"
    assert "can be left out" not in str(Reduction(report))


@pytest.mark.parametrize("unknown", ["undecided", "other"])
def test_nodes_are_needed_only_where_leaving_them_out_was_decided(unknown: Verdict, scratch: Path):
    report, _ = reduced(Judge({2, 6}, untold=lambda kept: unknown if len(kept) == 1 else "absent"), scratch)
    assert report.conclusion == "reduced"
    assert report.reduced is not None
    assert report.reduced.without_one_node == {unknown: 2}
    assert "can be left out" not in str(Reduction(report))


def test_a_part_that_is_refuted_is_never_said_to_show_it(scratch: Path):
    report, _ = reduced(Judge({7}, confirmed=lambda _: "absent"), scratch)
    assert report.conclusion == "unconfirmed"
    assert report.reduced is not None
    assert report.reduced.confirmation == "absent"
    assert Reduction(report).exit_code == 4
    for text in (str(Reduction(report)), Reduction(report).to_text("md")):
        assert "show that" not in text.replace("seemed to show that", "")
        assert "on a graph of" not in text


def test_a_part_that_stays_undecided_may_show_it(scratch: Path):
    report, _ = reduced(Judge({7}, confirmed=lambda _: "undecided"), scratch)
    assert report.reduced is not None
    assert (report.conclusion, report.reduced.confirmation) == ("reduced", "undecided")
    assert len(report.reduced.nodes) == 1
    for text in (str(Reduction(report)), Reduction(report).to_text("md")):
        assert "1 of 8 nodes may show that" in text


def test_without_time_for_it_nothing_is_measured_again(scratch: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Reducer, "_left_for_parts_s", lambda _: 100.0)
    report, told = reduced(Judge({7}, confirmed=lambda _: "absent"), scratch, budget=1.0)
    assert report.reduced is not None
    assert report.reduced.confirmation is None
    assert not any(isinstance(fact, Confirming) for fact in told)


def test_nodes_that_compute_constants_are_left_out_first(scratch: Path, monkeypatch: pytest.MonkeyPatch):
    static = replace(CHAIN, nodes=(replace(CHAIN.nodes[0], is_static=True), *CHAIN.nodes[1:]))
    monkeypatch.setattr(search, "read_outline", lambda _: static)
    report, told = reduced(Judge({7}), scratch)
    assert told[1] == SearchBegun(8, 1)
    assert report.candidates[0].nodes == 7
    monkeypatch.setattr(search, "read_outline", lambda _: static)
    (scratch / "again").mkdir()
    again, _ = reduced(Judge({0, 7}), scratch / "again")
    assert again.reduced is not None
    assert [node.name for node in again.reduced.nodes] == ["n0", "n7"]


def test_the_command_that_is_printed_can_be_pasted(scratch: Path):
    report, _ = reduced(Judge({6}), scratch, run=RunOptions(set={"ort": {"hint": "a b;c"}}))
    for text in (str(Reduction(report)), Reduction(report).to_text("md")):
        assert "--set 'ort.hint=a b;c'" in " ".join(text.split())


def test_the_bug_report_has_everything_that_a_maintainer_asks_for(scratch: Path):
    report, _ = reduced(Judge({6}), scratch)
    environment = {"cpu": {"Model name": "A CPU", "Flags": "avx2"}, "distributions": {"onnxruntime": "1.31.1"}}
    text = Reduction(replace(report, environment=environment, command=("irbench", "reduce"))).to_text("md")
    assert text.startswith("# fake-a is slower than fake-b by 1.5x on a graph of 1 node: Relu")
    for said in ("irbench run reduced.onnx --data inputs.npz", "| Relu ", "onnxruntime 1.31.1", "A CPU", "avx2"):
        assert said in text
    assert '"conclusion": "reduced"' in Reduction(report).to_text("json")
    assert repr(Reduction(report)) == "<Reduction of whole.onnx: 1 of 8 nodes>"


@pytest.mark.parametrize(("budget_s", "share"), [(600.0, 0.3), (24.0, 1.0)])
def test_the_whole_graph_has_a_share_of_the_budget_and_of_a_small_one_the_time_that_an_interval_takes(
    scratch: Path, budget_s: float, share: float
):
    judge = Judge({2})
    _, told = reduced(judge, scratch, budget=budget_s)
    assert judge.whole_budget_s == pytest.approx(share * budget_s)
    assert not any(isinstance(fact, BudgetTooShort) for fact in told)


def test_a_budget_that_is_too_short_for_an_interval_is_told_before_anything_is_measured(scratch: Path):
    _, told = reduced(Judge({2}, "undecided"), scratch, budget=10.0)
    assert told[0] == BudgetTooShort(10.0, interval_seconds(), 4 * interval_seconds())


@pytest.mark.parametrize(
    ("launches", "ends", "shown", "said"),
    [
        (
            3,
            (2.0, 2.2),
            "2.10 [2.00, 2.20]",
            "had 3 launches, too few for a confidence interval: brackets are the range",
        ),
        (1, (None, None), "2.10", "had 1 launch, too few for a confidence interval."),
    ],
)
def test_a_table_of_few_launches_has_a_range_or_nothing_and_never_95_per_cent(
    launches: int, ends: tuple[Any, Any], shown: str, said: str
):
    expected = ExpectedDifference("slower", "fake-a", "fake-b", 1.5)
    found = replace(speedup(2.1, 2.0, 2.2, "preview", launches=launches), range_low=ends[0], range_high=ends[1])
    report = ReductionReport("own.onnx", expected, "undecided", 3, full=replace(evidence("undecided"), speedup=found))
    for form in ("table", "md"):
        text = " ".join(Reduction(report).to_text(form).split())  # type: ignore[arg-type]
        assert "95 %" not in text
        assert shown in text
        assert said in text
    plain = json.loads(Reduction(report).to_text("json"))["full"]["speedup"]
    assert (plain["low"], plain["high"], plain["range_low"], plain["range_high"]) == (None, None, *ends)
