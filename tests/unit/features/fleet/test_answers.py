"""What a target sends is what it was asked for, or is refused with what it is instead."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import documents
import pytest

from irbench import __version__
from irbench.core.result import RunDocument
from irbench.features.fleet.answers import require_asked
from irbench.features.fleet.jobs import Job, with_places
from irbench.features.fleet.messages import Command, JobOutcome, JobRequest, NotAsked, TableOutcome, TargetFacts, Tuned
from irbench.features.plan.expansion import CurveStep, SweepCell, SweepTable

ONE, TWO = "01ARZ3NDEKTSV4RRFFQ69G5FA1", "01ARZ3NDEKTSV4RRFFQ69G5FA2"
MODEL = "ab" * 32
FACTS = TargetFacts(
    irbench_version=__version__,
    python="3.12",
    machine="m",
    processor="p",
    processors=1,
    memory_bytes=1 << 34,
    distributions={},
    utc="",
)
ENVIRONMENT = {"cpu": {"Model name": "p"}, "python": "3.12"}
FIRST = SweepTable((SweepCell({"models": "../a.onnx", "batch": 4}),), ())
SECOND = SweepTable((SweepCell({"models": "../a.onnx", "batch": 16}),), ())
CURVE = SweepTable(FIRST.cells, (), CurveStep("c", 0.1, 1))
PLACES = {"../a.onnx": "0123/a.onnx"}


def document(table: SweepTable, run: str = ONE, batches: tuple[Any, ...] = (4,), **changes: Any) -> RunDocument:
    """Return the run of a table as a target that is honest measures it."""
    (placed,) = with_places((table,), PLACES)
    plan = {"name": f"f {placed.label}", "batches": batches, **changes.pop("plan", {})}
    whole = documents.document(
        run_id=run,
        irbench_version=__version__,
        environment=ENVIRONMENT,
        plan=plan,
        file_digests={"a (onnx)": MODEL, "data.npz": "cd" * 32},
    )
    return replace(whole, **changes)


def require(
    outcome: JobOutcome,
    *runs: RunDocument,
    tables: tuple[SweepTable, ...] = (FIRST,),
    command: Command = "sweep",
    models: tuple[str, ...] = (MODEL,),
) -> None:
    job = Job("0" * 12, "a", tables, 1.0, command)
    request = JobRequest(job=job.id, name="f", tables=tables, files=(), places=PLACES, command=command)
    require_asked("a", job, request, outcome, {run.run_id: run for run in runs}, models, FACTS)


def measured(*tables: TableOutcome, **changes: Any) -> JobOutcome:
    return JobOutcome(**{"kind": "measured", "tables": tables or (TableOutcome(FIRST.id, ONE),), **changes})


def tuned(search: str) -> Tuned:
    return Tuned(conclusion="better", setting=None, is_confirmed=True, deciding_budget_s=None, search_run=search)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"file_digests": {"a (onnx)": "cd" * 32}}, "another model"),
        ({"file_digests": {"a (onnx)": MODEL, "b (onnx)": "cd" * 32}}, "another model"),
        ({"file_digests": {}}, "another model"),
        ({"plan": {"name": "g other"}}, "another plan"),
        ({"batches": (8,)}, "other batch sizes"),
        ({"batches": (4, 8)}, "other batch sizes"),
        ({"batches": ()}, "other batch sizes"),
        ({"plan": {"batches": None}}, "other batch sizes"),
        ({"environment": {**ENVIRONMENT, "cpu": {"Model name": "q"}}}, "another machine"),
        ({"environment": {**ENVIRONMENT, "cpu": "p"}}, "another machine"),
        ({"environment": {**ENVIRONMENT, "python": "3.11"}}, "another machine"),
        ({"environment": {}}, "another machine"),
        ({"irbench_version": "0.0.9"}, "another irbench"),
    ],
)
def test_a_run_of_something_else_is_refused_with_what_it_is(changes: dict[str, Any], reason: str):
    with pytest.raises(NotAsked, match=reason):
        require(measured(), document(FIRST, **changes))


@pytest.mark.parametrize(
    ("outcome", "runs", "reason"),
    [
        (measured(TableOutcome("other", ONE)), [ONE], "tables that are not of the job"),
        (measured(*[TableOutcome(FIRST.id, ONE)] * 2), [ONE], "tables that are not of the job"),
        (JobOutcome(kind="measured"), [], "no answer for some tables"),
        (measured(), [], "the id of a run that it did not send"),
        (measured(TableOutcome(FIRST.id)), [ONE], "a run that is of no table"),
        (JobOutcome(kind="refused", message="no"), [ONE], "a run that is of no table"),
        (measured(), [ONE, TWO], "a run that is of no table"),
    ],
)
def test_an_answer_whose_tables_and_runs_do_not_fit_is_refused(outcome: JobOutcome, runs: list[str], reason: str):
    with pytest.raises(NotAsked, match=reason):
        require(outcome, *(document(FIRST, run) for run in runs))


def test_one_run_does_not_answer_several_tables():
    both = measured(TableOutcome(FIRST.id, ONE), TableOutcome(SECOND.id, ONE))
    for table, batch in ((FIRST, 4), (SECOND, 16)):
        with pytest.raises(NotAsked, match="one run for several tables"):
            require(both, document(table, batches=(batch,)), tables=(FIRST, SECOND))


@pytest.mark.parametrize(
    "outcome",
    [
        measured(TableOutcome(FIRST.id, message="no")),
        *(JobOutcome(kind=kind) for kind in ("busy", "refused", "died", "unwritable")),
    ],
    ids=repr,
)
def test_an_outcome_without_runs_is_believed(outcome: JobOutcome):
    require(outcome)


def test_a_table_of_a_plan_whose_model_lies_outside_its_folder_is_believed():
    require(measured(), document(FIRST))


def test_several_tables_with_a_run_each_are_believed():
    outcome = measured(TableOutcome(FIRST.id, ONE), TableOutcome(SECOND.id, TWO))
    require(outcome, document(FIRST), document(SECOND, TWO, (16,)), tables=(FIRST, SECOND))


def test_a_step_of_a_curve_is_believed_with_the_batch_before_beside_it_and_not_without():
    require(measured(TableOutcome(CURVE.id, ONE)), document(CURVE, batches=(2, 4)), tables=(CURVE,))
    with pytest.raises(NotAsked, match="other batch sizes"):
        require(measured(TableOutcome(CURVE.id, ONE)), document(CURVE, batches=(4,)), tables=(CURVE,))


def test_a_search_is_believed_with_its_confirmation_or_without():
    both = measured(TableOutcome(FIRST.id, ONE, tuned=tuned(TWO)))
    require(both, document(FIRST), document(FIRST, TWO, (1, 2)), command="tune")
    require(measured(TableOutcome(FIRST.id, ONE, tuned=tuned(ONE))), document(FIRST), command="tune")
    with pytest.raises(NotAsked, match="did not send"):
        require(both, document(FIRST), command="tune")


def test_serving_without_a_model_of_ours_is_believed():
    table = SweepTable((SweepCell({"models": "resnet50"}),), ())
    run = document(table, file_digests={}, batches=())
    require(measured(TableOutcome(table.id, ONE)), run, tables=(table,), command="serve", models=())


@pytest.mark.parametrize(
    ("settings", "sent", "is_believed"),
    [
        ({"backends": "ort,openvino"}, {"backends": ["openvino:cpu", "ort:cpu"]}, True),
        ({"backends": ["ort", "openvino"]}, {"backends": ["ort:cpu"]}, True),
        ({"backends": "ort:cuda"}, {"backends": ["ort:cpu"]}, False),
        ({"backends": "ort"}, {"backends": ["ort:cpu", "tf"]}, False),
        ({"threads": 1}, {"threads": [1]}, True),
        ({"threads": [1, 2]}, {"threads": [2]}, True),
        ({"threads": 1}, {"threads": [64]}, False),
        ({"threads": "native"}, {"threads": [2]}, True),
        ({"streams": "1,4"}, {"streams": [1, 4]}, True),
        ({"streams": "1,4"}, {"streams": [1, 2]}, False),
        ({"backends": "ort"}, {"backends": []}, False),
        ({"threads": 1}, {"threads": []}, False),
    ],
)
def test_a_run_of_other_settings_is_not_believed(settings: dict[str, Any], sent: dict[str, Any], is_believed: bool):
    table = SweepTable((SweepCell({"models": "../a.onnx", **settings}),), ())
    with nullcontext() if is_believed else pytest.raises(NotAsked, match="a run of other"):
        require(measured(TableOutcome(table.id, ONE)), document(table, plan=sent), tables=(table,))


def test_what_a_search_found_is_there_for_searches_and_for_nothing_else():
    with pytest.raises(NotAsked, match="search"):
        require(measured(TableOutcome(FIRST.id, ONE, tuned=tuned(TWO))), document(FIRST))
    with pytest.raises(NotAsked, match="search"):
        require(measured(), document(FIRST), command="tune")
