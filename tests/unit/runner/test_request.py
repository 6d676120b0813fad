"""What a run says before it begins, and how it shares its budget."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import models
import pytest
from decoders import write_decoder
from run_requests import run_request

from irbench.exporter.foreign import from_onnx_file
from irbench.perf_events.counter_plan import CounterPlan, Counting
from irbench.perf_events.obstacles import NoPmu
from irbench.requests.generation import GenerationRequest, generations
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.runs.run_plan import expected_table_s, outline
from irbench.spec import AccuracyLimit, Bundle, CorunPlan, Goal, InputSpec, SoakPlan, Timing
from irbench.spec.serving import ServingPlan


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))


def groups(bundle: Bundle, scratch: Path, batches: tuple[int, ...]) -> tuple[PlannedGroup, ...]:
    request = run_request((bundle,), (("fake-a", "cpu"), ("tf", "cpu")), batch=batches, streams=(1, 2))
    return plan(request, prepare(request, scratch))


def test_the_outline_says_that_a_launch_holds_a_part_of_a_large_table_and_allows_it_more_time(
    bundle: Bundle, tmp_path: Path
) -> None:
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), streams=(1, 2, 3, 4))
    said = outline(plan(request, prepare(request, tmp_path)), request)
    assert "fake-b x4; 2 parts, because a launch has at most 6 rows" in said
    assert "7 to 24 launches (4 to 12 for each row) x 8 blocks each" in said
    assert "would end after 180 s" in said


def test_the_outline_says_how_many_launches_several_tables_take(bundle: Bundle, tmp_path: Path) -> None:
    request = run_request(
        (bundle,), (("fake-a", "cpu"),), batch=(1, 8), apart=True, timing=Timing(min_launches=3, max_launches=3)
    )
    said = outline(plan(request, prepare(request, tmp_path)), request)
    assert "6 launches (3 for each row) x 8 blocks each" in said


@pytest.mark.parametrize(("budget", "is_enough"), [(5.0, False), (90.0, True)])
def test_the_outline_says_whether_the_budget_suffices(
    bundle: Bundle, tmp_path: Path, budget: float, is_enough: bool
) -> None:
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), timing=Timing(budget=budget))
    said = outline(plan(request, prepare(request, tmp_path)), request)
    assert ("give about --budget 17s, or measure fewer rows" in said) is not is_enough
    assert f"would end after {budget:.0f} s" in said


@pytest.mark.parametrize(("budget_s", "why"), [(20.0, ", because `--counters` takes half of the budget"), (None, "")])
def test_the_outline_of_a_run_with_counters_advises_a_budget_that_is_enough_for_both(
    bundle: Bundle, tmp_path: Path, budget_s: float | None, why: str
) -> None:
    request = run_request(
        (bundle,),
        (("fake-a", "cpu"), ("fake-b", "cpu")),
        timing=Timing(budget=10.0),
        budget_s=budget_s,
        counting=Counting(CounterPlan(("software",)), "perf", "6.8", ("cs",)),
    )
    said = outline(plan(request, prepare(request, tmp_path)), request)
    advice = "give about --budget 34s, measure fewer rows, or leave `--counters` out"
    assert f"would end after 10 s{why}: {advice}" in said


def test_the_outline_names_each_table_with_the_rows_that_can_run(bundle: Bundle, tmp_path: Path) -> None:
    said = outline(groups(bundle, tmp_path, (1, 8)), run_request((), ())).splitlines()
    rows = "fake-a batch 1, fake-a x2 batch 1, fake-a batch 8, fake-a x2 batch 8"
    assert said[0] == f"mlp (batch 1 and 8): {rows}"
    assert "4 to 12 launches x 8 blocks" in said[1]


def test_the_outline_of_generations_says_how_long_prompts_and_texts_are_and_no_size_that_grows(tmp_path: Path) -> None:
    decoder = from_onnx_file(write_decoder(tmp_path / "decoder.onnx"))
    bundles = generations([replace(decoder, defaults={"tokens": 128})], GenerationRequest(16, (4,)))
    request = run_request(bundles, (("fake-a", "cpu"),), generate=16, prompt=(4,))
    said = outline(plan(request, prepare(request, tmp_path)), request)
    assert said.startswith("decoder (batch 1, prompt 4, 16 new tokens): fake-a\n")


def test_the_outline_foretells_more_time_for_more_work(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))

    def least_s(batches: tuple[int, ...], timing: Timing) -> int:
        words = (
            outline(groups(bundle, tmp_path, batches), run_request((), (), timing=timing)).split("about ")[1].split()
        )
        return int(words[0])

    assert 0 < least_s((1,), Timing()) < least_s((1, 8), Timing())
    assert least_s((1,), Timing(min_launches=3, max_launches=3)) < least_s((1,), Timing())


@pytest.mark.parametrize(("load", "least_ratio"), [(0.1, 1.0), (400.0, 2.0)])
def test_the_outline_foretells_more_time_on_a_busy_machine(
    bundle: Bundle, tmp_path: Path, load: float, least_ratio: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), timing=Timing(budget=3000.0))
    tables = plan(request, prepare(request, tmp_path))
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    idle_s = expected_table_s(tables[0], request, tables)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    assert expected_table_s(tables[0], request, tables) >= least_ratio * idle_s


def test_the_outline_counts_what_was_prepared_where_a_budget_contains_it(bundle: Bundle, tmp_path: Path) -> None:
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), timing=Timing(budget=90.0), budget_s=90.0)
    tables = plan(request, prepare(request, tmp_path))
    said = outline(tables, request, prepared_s=31.0)
    assert "2 configurations, about " in said
    assert (
        "after 31 s of preparation: 4 to 12 launches x 8 blocks each; no launch begins that would end after 90" in said
    )
    assert "give about --budget 97s" in outline(tables, request, prepared_s=80.0)
    assert "preparation" not in outline(tables, replace(request, budget_s=None), prepared_s=31.0)


def test_rows_that_take_turns_share_one_table_and_the_outline_says_what_is_measured(
    bundle: Bundle, tmp_path: Path
) -> None:
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), streams=(1, 2, 3, 4), cold=True)
    (table,) = plan(request, prepare(request, tmp_path))
    assert len(table.measured) == 8
    assert "up to 12 rounds" in outline([table], request)
    asked = replace(request.asking(cold=False), soak=SoakPlan(seconds=30))
    assert "soak: 8 rows one after the other, 30 s each, 240 s in all" in outline([table], asked)
    assert "100 calls each" in outline([table], replace(asked, soak=SoakPlan(calls=100)))


@pytest.mark.parametrize("weight", [1, 3])
def test_without_a_budget_every_group_has_the_protocols_as_often_as_its_work_is_that_of_one(
    bundle: Bundle, weight: int
) -> None:
    request = run_request((bundle,), (), timing=Timing(sized_for=25.0))
    timing = request.with_budget_for(weight, 5, 1000.0).timing
    assert (timing.budget, timing.sized_for) == (weight * request.timing.budget, weight * 25.0)


@pytest.mark.parametrize(("left", "elapsed_s", "share_s"), [(4, 0.0, 75.0), (2, 100.0, 100.0), (1, 400.0, 0.0)])
def test_what_is_left_of_the_budget_is_shared_among_the_groups_that_are_left(
    bundle: Bundle, left: int, elapsed_s: float, share_s: float
) -> None:
    request = run_request((bundle,), (), budget_s=300.0)
    assert request.with_budget_for(1, left, elapsed_s).timing.budget == share_s
    assert request.with_budget_for(left, left, elapsed_s).timing.budget == left * share_s


def test_the_stored_plan_holds_everything_that_was_asked_for(bundle: Bundle) -> None:
    stored = run_request(
        (bundle,), (("ort", "cuda"),), batch=(1, 8), streams=(4,), threads=(None,), shape={"x": (1, 2)}
    ).as_plan()
    assert stored.backends == ("ort:cuda",)
    assert stored.batches == (1, 8)
    assert stored.streams == (4,)
    assert stored.threads == (None,)
    assert stored.shapes == {"x": (1, 2)}
    assert stored.timing["min_launches"] == 4


def test_whatever_a_request_was_resolved_to_is_in_its_stored_plan() -> None:
    changed: dict[str, Any] = {
        "precisions": ("bf16",), "variants": ("basic",), "threads": (3,), "alternatives": {"ort": ({"a": "1"},)},
        "accuracy": AccuracyLimit(0.9), "goal": Goal("fps"), "timing": Timing(min_launches=7), "budget_s": 9.0,
        "side_by_side": True, "soak": SoakPlan(calls=5), "corun": CorunPlan((), 0), "serving": ServingPlan("server"),
        "training": {"batch": [8]}, "traced_steps": 4, "is_part_of": "tune", "search_run": "01K",
    }  # fmt: skip
    elsewhere = {"bundles", "backends", "asked", "is_repeatable", "counting", "notes"}
    assert {item.name for item in fields(RunRequest)} == changed.keys() | elsewhere
    usual, stored = run_request().as_plan(), run_request(**changed).as_plan()
    assert not [name for name in changed if getattr(stored, name) == getattr(usual, name)]


def test_a_generation_stores_the_feedback_that_its_graphs_take_in_its_place() -> None:
    request = run_request(generate=4, feedback={"past": "present"})
    assert request.inputs.feedback == {}
    assert request.as_plan().feedback == {"past": "present"}


def test_the_outline_says_what_is_counted_besides_and_what_cannot_be(bundle: Bundle, tmp_path: Path) -> None:
    missing = {"cache": NoPmu()}
    counting = Counting(CounterPlan(("software", "cache")), "perf", "6.8", ("cs",), unavailable=missing)
    tables = groups(bundle, tmp_path, (1,))
    *_, counted, left_out = outline(tables, run_request((), (), counting=counting)).splitlines()
    assert counted.startswith("counters: 6 more launches of each row, which are not timed, with perf 6.8")
    assert left_out.startswith("not counted: cache: the kernel offers no counters of the processor")
    assert "vPMU" in left_out
    assert "counters" not in outline(tables, run_request((), ()))
