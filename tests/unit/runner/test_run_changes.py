"""A run that ended early goes on only where nothing of it has changed; what has is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import documents
import models
import pytest

from irbench import __version__
from irbench.core.result import GroupResult, RunDocument
from irbench.features.run.view import changed_message, changed_remedy
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.runner.run_changes import (
    ConfinementChange,
    FileChange,
    PlannedRun,
    RowsChange,
    RunChange,
    SettingChange,
    changed_environment,
    changes_since,
)
from irbench.spec import Bundle, InputSpec

ENVIRONMENT = {"kernel": "6.1", "cpu": {"Model name": "A CPU"}, "distributions": {"ort": "1.0"}}
FILES = {"mlp (onnx)": "abc", "loop.py": "def"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> PlannedRun:
    """What would be measured now: two tables of two rows."""
    folder = tmp_path_factory.mktemp("model")
    artifact = models.mlp(folder)
    bundle = Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))
    request = RunRequest((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), batches=(1, 2), apart=True)
    groups = plan(request, prepare(request, folder / "scratch"))
    return PlannedRun(request.as_plan(), ENVIRONMENT, FILES, groups)


@pytest.fixture
def begun(planned: PlannedRun) -> RunDocument:
    """The same run, which ended early in its first table."""
    rows = tuple(documents.cell("fake-a", id=cell.id) for cell in planned.groups[0].group.cells)
    table = documents.group(*rows, model="mlp", batch=1, stopped_by="unfinished")
    found = documents.document(table, complete=False, environment=ENVIRONMENT, plan=planned.plan)
    return replace(found, irbench_version=__version__, file_digests=FILES)


def test_a_run_whose_command_was_written_otherwise_is_the_same(begun: RunDocument, planned: PlannedRun) -> None:
    assert not changes_since(begun, replace(planned, plan={**planned.plan, "command": ["irbench", "run"]}))


def test_numbers_of_a_plan_are_the_same_but_for_rounding(begun: RunDocument, planned: PlannedRun) -> None:
    limited = replace(begun, plan={**begun.plan, "goal": {"objective": "fps", "max_latency_ms": 0.7}})
    again = {"objective": "fps", "max_latency_ms": 1e3 * (0.7 / 1e3) + 1e-16}
    assert not changes_since(limited, replace(planned, plan={**planned.plan, "goal": again}))
    other = {**again, "max_latency_ms": 0.71}
    assert changes_since(limited, replace(planned, plan={**planned.plan, "goal": other}))


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"irbench_version": "0.0.1"}, RunChange("irbench", "0.0.1", __version__)),
        ({"environment": {**ENVIRONMENT, "kernel": "5.9"}}, RunChange("kernel", "5.9", "6.1")),
        (
            {"environment": {**ENVIRONMENT, "distributions": {}}},
            RunChange("ort", None, "1.0"),
        ),
        (
            {"environment": {**ENVIRONMENT, "cpu": {"Model name": "B CPU"}}},
            RunChange("Model name", "B CPU", "A CPU"),
        ),
        (
            {"environment": {**ENVIRONMENT, "confined": True}},
            ConfinementChange("confined", True, None),
        ),
        ({"file_digests": {**FILES, "loop.py": "123"}}, FileChange("loop.py")),
    ],
    ids=["irbench", "kernel", "package", "processor", "confinement", "file"],
)
def test_what_has_changed_is_named(
    begun: RunDocument, planned: PlannedRun, changes: dict[str, Any], found: RunChange
) -> None:
    assert changes_since(replace(begun, **changes), planned) == (found,)


def test_a_setting_that_the_machine_decides_is_named(begun: RunDocument, planned: PlannedRun) -> None:
    other = replace(begun, plan={**begun.plan, "threads": [8]})
    assert changes_since(other, planned) == (SettingChange("threads", [8], planned.plan["threads"]),)


def test_a_file_that_could_not_be_read_then_or_cannot_be_now_is_no_change(
    begun: RunDocument, planned: PlannedRun
) -> None:
    assert not changes_since(replace(begun, file_digests={}), planned)
    assert not changes_since(begun, replace(planned, files={}))


def tables(table: GroupResult) -> dict[str, tuple[GroupResult, ...]]:
    first, *rest = table.cells
    return {
        "rows": (replace(table, cells=(first,)),),
        "form": (replace(table, cells=(replace(first, dynamic=True), *rest)),),
        "model": (replace(table, model="net"),),
        "batch": (replace(table, batch=2),),
        "more": (table, replace(table, batch=2), table),
    }


@pytest.mark.parametrize("changed", ["rows", "form", "model", "batch", "more"])
def test_a_table_with_other_rows_is_a_change(begun: RunDocument, planned: PlannedRun, changed: str) -> None:
    (table,) = begun.groups
    (found,) = changes_since(replace(begun, groups=tables(table)[changed]), planned)
    assert isinstance(found, RowsChange)


def test_machine_and_packages_are_compared_before_anything_is_planned(begun: RunDocument) -> None:
    assert not changed_environment(begun, ENVIRONMENT)
    assert [change.name for change in changed_environment(begun, {**ENVIRONMENT, "kernel": "6.2"})] == ["kernel"]


def test_confinement_that_a_document_does_not_tell_is_no_change(begun: RunDocument) -> None:
    assert changed_environment(begun, {**ENVIRONMENT, "confined": False}) == ()


@pytest.mark.parametrize(("now", "remedy"), [(True, "Unset IRBENCH_CONFINE to"), (False, "Set IRBENCH_CONFINE=1 to")])
def test_a_run_whose_confinement_alone_is_another_can_go_on_as_it_began(now: bool, remedy: str) -> None:
    change = ConfinementChange("confined", not now, now)
    assert changed_remedy("01KA", [change], "").startswith(remedy)
    assert changed_remedy("01KA", [change, FileChange("loop.py")], "").startswith("Begin another run")


def test_the_message_names_changes_with_both_values_and_counts_those_beyond_five() -> None:
    one = changed_message("01KA", [RunChange("ort", "1.0", None)])
    assert one == "01KA cannot be continued, since something has changed: ort was 1.0 and is missing."
    many = changed_message("01KA", [FileChange(f"file {number}") for number in range(7)])
    assert many.endswith("file 4 has changed; 2 more.")
