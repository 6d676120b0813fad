"""``irbench compare`` through the front door: verdicts, refusals, exit codes, regressions that are measured again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import models
import onnx
import pytest
from compared_runs import EVEN, MACHINE, store, times
from fake_runs import ENOUGH
from front_door import Called, irbench

import irbench as api
from irbench.across_runs.changes import ConditionOutcome
from irbench.across_runs.side_comparison import ComparedRow
from irbench.errors import IrbenchError
from irbench.features.compare.confirmed_regressions import Confirmation, ConfirmationOutcome
from irbench.features.compare.report import ComparedRuns
from irbench.stats.rederive import rederive
from irbench.store.folders import default_root
from irbench.store.runs import RunWriter, Store

ALONE = ("--backends", "fake-a", *ENOUGH)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def compared(*arguments: object) -> Called:
    return irbench("compare", *arguments)


def measured(model: Path, name: str, call_us: int, *arguments: object) -> str:
    """Measure fake-a at a known speed, and return the run's folder."""
    called = irbench("run", model, *ALONE, "--set", f"fake-a.call_us={call_us}", "--name", name, *arguments)
    assert called.code == 0, called.err
    return called.err.strip().splitlines()[-1].removeprefix("stored in ")


def confirmed_as(outcome: ConfirmationOutcome, suspects: Sequence[ComparedRow]) -> Confirmation:
    """Return a second measurement that says the same of every condition that was to be checked again."""
    found: dict[ConfirmationOutcome, ConditionOutcome] = {"confirmed": "met", "not-confirmed": "not-met"}
    if outcome == "not-possible":
        return Confirmation(outcome)
    last = found.get(outcome, "undecided")
    rows = (
        replace(row, conditions=tuple(replace(item, outcome=last, unjudged=None) for item in row.conditions))
        for row in suspects
    )
    return Confirmation(outcome, "new", "01C", tuple(rows))


def slower_copy(
    folder: str, name: str, factor: float, *, launches: int | None = None, **environment: object
) -> RunWriter:
    """Store a run like another one whose launches were all slower, as if the machine had drifted, or the first few."""
    store_ = Store(default_root())
    source = store_.load(Path(folder))
    plan = replace(source.plan, name=name)
    writer = store_.begin({**source.environment, **environment}, plan)
    for record in store_.launches(Path(folder))[:launches]:
        cells = tuple(
            replace(
                cell,
                rounds=tuple(
                    replace(
                        round_,
                        issue_ns=(round_.issue_ns * factor).astype("int64"),
                        completion_ns=(round_.completion_ns * factor).astype("int64"),
                    )
                    for round_ in cell.rounds
                ),
            )
            for cell in record.cells
        )
        writer.add_launch(replace(record, cells=cells))
    whole = replace(source, run_id=writer.document.run_id, created=writer.document.created, plan=plan)
    launched = writer.commit(replace(whole, environment=writer.document.environment))
    writer.commit(rederive(launched, store_.launches(writer.folder)))
    return writer


def test_two_runs_are_compared_by_name_and_nothing_fails_unless_it_is_asked_for():
    root = default_root()
    store(root, {"ort": EVEN}, plan={"name": "before"})
    store(root, {"ort": times(1.1)}, plan={"name": "after"})
    called = compared("before", "after")
    assert called.code == 0
    assert "1 row: 1 slower." in called.out
    assert "+10.0 %" in called.out
    assert compared("before", "after", "--fail-on", "p50>5%").code == 1
    assert compared("before", "after", "--fail-on", "p50>15%").code == 0
    assert compared("after", "before", "--fail-on", "p50>5%", "--fail-on", "fps<-1%").code == 0


def test_the_document_and_markdown_hold_what_the_table_shows():
    root = default_root()
    store(root, {"ort": EVEN}, plan={"name": "before"})
    store(root, {"ort": times(1.1)}, plan={"name": "after"})
    asked = ("before", "after", "--fail-on", "p50>5%", "--format")
    found = json.loads(compared(*asked, "json").out)
    (row,) = found["comparison"]["rows"]
    assert found["regressed"]
    assert row["verdict"] == "slower"
    assert row["conditions"][0]["outcome"] == "met"
    text = compared(*asked, "md").out
    assert text.startswith("### tiny · before (")
    assert "| ort | fp32 |" in text


def test_a_run_is_not_compared_with_itself():
    store(default_root(), {"ort": EVEN}, plan={"name": "after"})
    called = compared("after")
    assert called.code == 2
    assert "same run" in called.err
    assert "irbench results" in called.err


def test_other_machines_are_refused_unless_forced():
    root = default_root()
    store(root, {"ort": EVEN}, plan={"name": "here"})
    store(root, {"ort": EVEN}, plan={"name": "there"}, environment={**MACHINE, "cpus_allowed": 64})
    refused = compared("here", "there")
    assert refused.code == 2
    assert "processors 2 and 64" in refused.err
    assert "--force" in refused.err
    forced = compared("here", "there", "--force")
    assert forced.code == 0
    assert "warning: another machine: processors 2 → 64" in forced.out


def test_what_is_wrong_with_both_sides_is_said_at_once():
    root = default_root()
    for name in ("one", "two"):
        writer = store(root, {"ort": EVEN}, plan={"name": name})
        next(writer.folder.glob("launch-*")).write_bytes(b"nothing")
    refused = compared("one", "two")
    assert refused.code == 2
    assert refused.err.count("checksum does not match") == 2
    assert "one and two: no run that can be compared" in refused.err


def test_links_among_the_runs_of_a_folder_are_named_and_the_others_compared(tmp_path: Path):
    first, second = (store(default_root(), {"ort": EVEN}) for _ in range(2))
    shutil.copytree(first.folder, tmp_path / first.folder.name)
    (tmp_path / second.folder.name).symlink_to(second.folder)
    called = compared(tmp_path, second.folder.name)
    assert called.code == 0, called.err
    assert f"warning: {tmp_path / second.folder.name} was left out: it is a symbolic link." in called.err


@pytest.mark.parametrize("condition", ["p51>5%", "p50<5%", "p50>5MB", "fast"])
def test_a_wrong_condition_is_refused_before_anything_is_read(condition: str):
    refused = compared("nothing", "--fail-on", condition)
    assert refused.code == 2
    assert "--fail-on" in refused.err
    with pytest.raises(IrbenchError, match="fail_on"):
        api.compare("nothing", fail_on=condition)


def test_nothing_in_common_is_no_success_strict_or_not():
    root = default_root()
    store(root, {"ort": EVEN}, plan={"name": "before"})
    store(root, {"tf": EVEN}, plan={"name": "after"})
    found = compared("before", "after")
    said = " ".join(found.out.split())
    assert "No row was measured on both sides: BASE has ort, NEW has tf. Rows match where " in said
    assert "base ms" not in said
    assert "| base ms |" not in compared("before", "after", "--format", "md").out
    assert [found.code, compared("before", "after", "--strict").code] == [2, 2]


UNEVEN = (0.0470, 0.0472, 0.0470, 0.0530), (0.0524, 0.0472, 0.0526, 0.0526)
"""Launches at one of two speeds: the typical difference between two of them is not that of the medians."""


@pytest.mark.parametrize("form", ["table", "md"])
def test_every_percentage_is_that_of_the_two_figures_beside_it(form: str):
    root = default_root()
    for name, levels in zip(("before", "after"), UNEVEN, strict=True):
        store(root, {"ort": levels}, plan={"name": name})
    called = compared("before", "after", "--fail-on", "p50>5%", "--fail-on", "fps<-5%", "--format", form)
    said = " ".join(called.out.split())
    number = r"([\d.]+)"
    told = re.findall(rf"{number} (?:ms|FPS) → {number} (?:ms|FPS), ([+-][\d.]+) %", said)
    told += re.findall(rf"fp32 \|? ?{number} \|? ?{number} \|? ?([+-][\d.]+) %", said)
    assert len(told) == 3
    for base, new, change in told:
        assert f"{100 * (float(new) / float(base) - 1):+.1f}" == change
    assert "+11." in said


@pytest.mark.parametrize(
    ("base", "new", "condition", "said"),
    [
        ({"ort": EVEN[:3]}, {"ort": times(1.01)[:3]}, "p50>5%", "p50>5% on ort: an interval takes 4 launches on both"),
        ({"ort": EVEN[:3]}, {"ort": times(1.3)[:3]}, "p50>5%", "p50>5% on ort: an interval takes 4 launches on both"),
        ({"ort": EVEN, "tf": EVEN}, {"ort": EVEN}, "p50>5%", "p50>5% on tf: no figures on the newer side"),
        ({"ort": EVEN}, {"ort": EVEN}, "p99>5%", "p99>5% on ort: not measured on both sides"),
    ],
    ids=["few launches", "few launches, far beyond the limit", "a row is missing", "a figure is missing"],
)
def test_a_condition_that_could_not_be_judged_is_no_pass(
    base: dict[str, tuple[float, ...]], new: dict[str, tuple[float, ...]], condition: str, said: str, tmp_path: Path
):
    store(default_root(), base, plan={"name": "before"})
    store(default_root(), new, plan={"name": "after"})
    called = compared("before", "after", "--fail-on", condition)
    assert called.code == 6
    assert f"warning: not judged, so this is not a pass (exit code 6): {said}" in " ".join(called.out.split())
    written = compared("before", "after", "--fail-on", condition, "--format", "json", "-o", tmp_path / "found.json")
    assert (written.code, said in written.err) == (6, True)
    assert len(json.loads((tmp_path / "found.json").read_text())["unjudged"]) == 1
    assert compared("before", "after").code == 0
    assert compared("before", "after", "--fail-on", "size>0%", "--strict").code == 6


def test_a_row_that_only_the_newer_side_has_is_nothing_to_judge():
    store(default_root(), {"ort": EVEN}, plan={"name": "before"})
    store(default_root(), {"ort": EVEN, "tf": EVEN}, plan={"name": "after"})
    assert compared("before", "after", "--fail-on", "p50>5%").code == 0


def test_times_of_a_busy_machine_are_no_pass_unless_runs_are_counted(tmp_path: Path):
    for folder, name in (("base", "before"), ("new", "after")):
        for number in range(4):
            writer = store(default_root(), {"ort": EVEN}, plan={"name": f"{name} {number}"}, busy=True)
            shutil.copytree(writer.folder, tmp_path / folder / writer.folder.name)
    called = compared("before 0", "after 0", "--fail-on", "p50>5%", "--fail-on", "peak_memory>5%")
    assert called.code == 6
    assert "(exit code 6): p50>5% on ort: the machine was busy on the older side" in " ".join(called.out.split())
    assert compared(tmp_path / "base", tmp_path / "new", "--fail-on", "p50>5%").code == 0


@pytest.mark.parametrize(
    ("outcome", "code"), [("confirmed", 1), ("not-possible", 1), ("not-confirmed", 0), ("undecided", 6)]
)
def test_a_regression_that_a_second_measurement_leaves_open_is_no_pass(outcome: ConfirmationOutcome, code: int):
    store(default_root(), {"ort": EVEN}, plan={"name": "before"})
    store(default_root(), {"ort": times(1.1)}, plan={"name": "after"})
    found = api.compare("before", "after", fail_on="p50>5%", progress=None)
    again = ComparedRuns(found.comparison, confirmed_as(outcome, found.comparison.suspects))
    assert again.exit_code() == code
    said = "(exit code 6): p50>5% on ort: met, but undecided when measured again"
    assert (said in " ".join(str(again).split())) is (code == 6)


@pytest.mark.ci
@pytest.mark.usefixtures("known_backends")
def test_what_could_not_be_judged_is_measured_again_too(model: Path):
    folder = measured(model, "measured", 1000)
    slower_copy(folder, "before", 1.0)
    slower_copy(folder, "after", 1.0, launches=2)
    assert compared("before", "after", "--fail-on", "p50>5%").code == 6
    called = compared("before", "after", "--fail-on", "p50>5%", "--confirm")
    assert called.code == 0, called.err + called.out
    assert "measured again: decided" in " ".join(called.out.split())


def test_load_hides_and_makes_changes_where_it_was():
    store(default_root(), {"ort": EVEN}, plan={"name": "quiet"})
    store(default_root(), {"ort": EVEN}, plan={"name": "busy"}, busy=True)
    store(default_root(), {"ort": times(1.5)}, plan={"name": "busy and slower"}, busy=True)
    assert compared("quiet", "busy", "--fail-on", "p50>5%").code == 0
    assert compared("quiet", "busy", "--fail-on", "p50<-5%").code == 6
    assert compared("busy", "quiet", "--fail-on", "fps<-5%").code == 6
    called = compared("quiet", "busy and slower", "--fail-on", "p50>5%")
    assert called.code == 6
    said = " ".join(called.out.split())
    assert "met, but the machine was busy on the newer side, which may be the reason" in said
    assert "regression: " not in said
    assert compared("busy and slower", "quiet", "--fail-on", "p50<-5%").code == 6
    assert compared("busy", "busy and slower", "--fail-on", "p50>5%").code == 6


def test_other_programs_are_named_as_a_possible_reason_without_any_condition():
    store(default_root(), {"ort": EVEN}, plan={"name": "quiet"})
    store(default_root(), {"ort": times(1.5)}, plan={"name": "busy"}, busy=True)
    said = " ".join(compared("quiet", "busy").out.split())
    assert "warning: other programs disturbed most blocks of NEW, which may be the reason for a change" in said
    assert "disturbed" not in compared("quiet", "quiet").out


@pytest.mark.parametrize(("outcome", "code"), [("confirmed", 1), ("not-possible", 6), ("not-confirmed", 0)])
def test_what_load_may_have_made_is_judged_once_it_was_measured_again(outcome: ConfirmationOutcome, code: int):
    store(default_root(), {"ort": EVEN}, plan={"name": "quiet"})
    store(default_root(), {"ort": times(1.5)}, plan={"name": "busy"}, busy=True)
    found = api.compare("quiet", "busy", fail_on="p50>5%", progress=None)
    assert [row.name for row in found.comparison.suspects] == ["ort"]
    confirmation = confirmed_as(outcome, found.comparison.suspects)
    assert ComparedRuns(found.comparison, confirmation).exit_code() == code


@pytest.mark.slow
@pytest.mark.usefixtures("known_backends")
def test_a_slower_setting_is_confirmed_by_measuring_it_again(model: Path):
    measured(model, "before", 1000)
    measured(model, "after", 1500)
    found = api.compare("before", "after", fail_on="p50>5%", confirm=True, progress=None)
    assert found.confirmation is not None
    assert (found.confirmation.outcome, found.confirmation.method) == ("confirmed", "new")
    assert found.regressed
    assert [item.name for item in found.comparison.differences] == ["options"]
    assert api.load(found.confirmation.run).document.plan.options == {"fake-a": {"call_us": "1500"}}


@pytest.mark.ci
@pytest.mark.usefixtures("known_backends")
def test_a_regression_that_is_not_found_again_is_no_alarm(model: Path):
    folder = measured(model, "measured", 1000)
    slower_copy(folder, "before", 1.0)
    slower_copy(folder, "after", 1.5)
    assert compared("before", "after", "--fail-on", "p50>5%").code == 1
    called = compared("before", "after", "--fail-on", "p50>5%", "--confirm")
    assert called.code == 0, called.err
    assert "not confirmed, so it is not a regression" in called.out


@pytest.mark.slow
@pytest.mark.usefixtures("known_backends")
def test_two_models_that_are_there_are_measured_again_in_one_run(model: Path, tmp_path: Path):
    for name in ("before", "after"):
        shutil.copy(model, tmp_path / f"{name}.onnx")
    measured(tmp_path / "before.onnx", "before", 1000)
    slower_copy(measured(tmp_path / "after.onnx", "as it was", 1000), "after", 1.5)
    found = api.compare("before", "after", fail_on="p50>5%", confirm=True, progress=None)
    assert found.confirmation is not None
    assert (found.confirmation.outcome, found.confirmation.method) == ("not-confirmed", "both")
    assert set(api.load(found.confirmation.run).document.plan.models) == {"before", "after"}


@pytest.mark.slow
@pytest.mark.usefixtures("known_backends")
def test_a_model_that_was_changed_is_not_measured_again(model: Path):
    folder = measured(model, "before", 1000)
    slower_copy(folder, "after", 1.5)
    graph = onnx.load(model)
    graph.producer_name = "another"
    onnx.save(graph, model)
    found = api.compare("before", "after", fail_on="p50>5%", confirm=True, progress=None)
    assert found.confirmation is not None
    assert found.confirmation.obstacle is not None
    assert found.confirmation.obstacle.code == "model-changed"
    assert found.regressed
