"""What a search of training settings chooses from, what it is compared with, and how its rows are used."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from training_steps import FALLING
from virtual_watches import VirtualTime

from irbench.core.record import Failure, Stage
from irbench.errors import IrbenchError
from irbench.features.train import loss_checks
from irbench.features.train.command import command as train_command
from irbench.features.train.loss_checks import UNCHECKED, LossChecks, Unchecked, computation_of
from irbench.features.train.run import training_request
from irbench.features.train.training_rows import TrainingRows, without
from irbench.features.tune.decision import Finalists
from irbench.features.tune.report import (
    Alternative,
    FewSettingsTried,
    Gain,
    Reservation,
    TunedSetting,
    TuningReport,
    UncheckedLosses,
)
from irbench.features.tune.tuning_rows import TuningRows
from irbench.features.tune.view import recommendation_texts
from irbench.features.tune_training.options import TUNE_TRAINING, TuneTrainingOptions
from irbench.features.tune_training.run import (
    checked_in_turn,
    command_of,
    least_budget_s,
    searched_rows,
    with_unchecked,
    worth_trying,
)
from irbench.options.run import RunOptions
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import Timing
from irbench.spec.training import ModelFacts, TrainedModel, TrainingArtifact, TrainingData

FACTS = ModelFacts("net", (32, 32, 3), 10, 1000, "sparse_categorical_crossentropy", "adam")
DATA = TrainingData("images", ("cat", "dog"), 100)
OPTIONS = TuneTrainingOptions(batch=(32, 64), precision=("fp32", "mixed_bfloat16"))
REQUEST = RunRequest((), (), timing=Timing(min_calls=5, round_seconds=0.1, settle=0.1))


def table(options: TuneTrainingOptions = OPTIONS) -> PlannedGroup:
    return TrainingRows(options, TrainedModel("net"), FACTS, DATA, threads=(2, None), cpus=None, seed=0).group()


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[TrainingArtifact]:
    """What is trained to check losses, which all fall."""
    trained: list[TrainingArtifact] = []

    def call(_target: str, _backend: str, training: TrainingArtifact, *_: object, **_others: object) -> Any:
        trained.append(training)
        return "loss", FALLING.losses

    monkeypatch.setattr(loss_checks, "call_in_worker", call)
    return trained


def searched(options: TuneTrainingOptions = OPTIONS) -> TuningRows:
    return searched_rows(REQUEST, table(options), LossChecks(options, 30.0, lambda _line: None))


def test_the_first_value_of_each_option_is_the_default_and_all_other_rows_are_searched(
    trained: list[TrainingArtifact],
) -> None:
    rows, planned = searched(), table()
    (default,) = rows.defaults
    assert default.id == planned.group.cells[0].id
    assert set(rows.space.ids) == {cell.id for cell in planned.group.cells[1:]}
    assert rows.references(64) == {default.id: "default"}
    assert len(trained) == 1


def test_a_default_that_does_not_train_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_checks, "call_in_worker", lambda *_, **_others: ("loss", (2.0,) * 32))
    with pytest.raises(IrbenchError, match=r"default, tf .* does not train"):
        searched()


@pytest.mark.usefixtures("trained")
def test_probes_have_the_rounds_of_training_and_no_parts_of_steps() -> None:
    rows = searched()
    assert (rows.probe.min_calls, rows.probe.round_seconds, rows.probe.settle) == (5, 0.1, 0.1)
    assert not rows.probe.beginnings
    assert not rows.request.timing.beginnings


@pytest.mark.usefixtures("trained")
def test_no_time_is_kept_for_checks_where_all_rows_compute_the_same() -> None:
    alike = TuneTrainingOptions(xla=("off",), prefetch=("0", "auto"))
    assert searched(alike).vetting_s == 0
    assert searched().vetting_s > 0


@pytest.mark.usefixtures("trained")
def test_a_row_that_turned_out_not_to_train_stands_beside_the_best_with_its_reason() -> None:
    rows = searched()
    refused, best = rows.space.ids[:2]
    failure = Failure("accuracy", "the loss does not fall")
    rows = replace(rows, planned=without(rows.planned, {refused: failure}))
    finalists = Finalists.of(rows, [best], [refused])
    assert {cell.id for cell in finalists.planned.measured} == {rows.defaults[0].id, best}
    assert finalists.planned.absent == {refused: failure}
    assert finalists.planned.group.baseline == rows.defaults[0].id


@pytest.mark.usefixtures("trained")
def test_without_time_for_checks_only_rows_that_compute_what_was_checked_are_left() -> None:
    checks = LossChecks(OPTIONS, 30.0, lambda _line: None)
    rows = searched_rows(REQUEST, table(), checks)
    planned = checked_in_turn(checks, rows.planned, rows.space.ids, 0.0)
    left = {cell.id for cell in planned.measured}
    default = rows.defaults[0]
    assert left == {cell.id for cell in table().group.cells if computation_of(cell) == computation_of(default)}
    assert set(planned.absent.values()) == {UNCHECKED}


@pytest.mark.usefixtures("trained")
def test_the_least_budget_has_every_start_of_a_first_launch_and_of_a_confirmation() -> None:
    rows = searched()
    quick_s, slow_s = least_budget_s(rows, 1.0, 20.0), least_budget_s(rows, 11.0, 20.0)
    assert slow_s - quick_s > 10.0 * rows.probe.most_cells
    few = searched(TuneTrainingOptions(xla=("off",), prefetch=("0", "auto"), workers=("auto",)))
    assert least_budget_s(few, 11.0, 20.0) < slow_s - 20.0


START_S, STEP_S = 3.0, 2.0


@pytest.fixture
def slow_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that come to their first step after :data:`START_S`, and each of whose steps takes :data:`STEP_S`."""
    now = VirtualTime()

    def call(*given: object, say: Callable[[Stage], None], **_others: object) -> Any:
        now.s += START_S
        say("run")
        steps = given[-2]
        assert isinstance(steps, int)
        now.s += STEP_S * steps
        return "loss", FALLING.losses

    monkeypatch.setattr(loss_checks, "Stopwatch", now.watch)
    monkeypatch.setattr(loss_checks, "call_in_worker", call)


@pytest.mark.usefixtures("slow_steps")
def test_more_steps_of_a_check_make_the_least_budget_larger_by_those_of_one_check_and_by_no_start() -> None:
    def least_s(options: TuneTrainingOptions) -> float:
        checks = LossChecks(options, 900.0, lambda _line: None)
        rows = searched_rows(REQUEST, table(options), checks)
        return least_budget_s(rows, checks.start_s, checks.longest_s)

    steps = OPTIONS.check_steps
    few_computations = replace(OPTIONS, batch=(32,), xla=("off",))
    for options in (OPTIONS, few_computations):
        more_s = least_s(replace(options, check_steps=2 * steps)) - least_s(options)
        assert more_s == pytest.approx(STEP_S * steps)
    alike = replace(few_computations, precision=("fp32",))
    assert least_s(replace(alike, check_steps=2 * steps)) == least_s(alike)


@pytest.mark.usefixtures("slow_steps")
def test_a_check_knows_what_it_took_until_its_first_step() -> None:
    checks = LossChecks(OPTIONS, 900.0, lambda _line: None)
    assert checks.start_s == 0.0
    searched_rows(REQUEST, table(), checks)
    assert checks.start_s == START_S
    assert checks.longest_s == START_S + STEP_S * OPTIONS.check_steps


def test_a_report_says_what_was_not_checked_confirms_nothing_and_names_one_budget() -> None:
    few = FewSettingsTried(tried=2, settings=9, enough=9, budget_s=60.0)
    report = TuningReport("net", "fps", None, "reference", seconds=100.0, is_confirmed=True, notes=(few,))
    assert with_unchecked(report, (), vetting_s=50.0, check_s=10.0) is report
    found = with_unchecked(report, ("one", "other"), vetting_s=50.0, check_s=10.0)
    assert not found.is_confirmed
    assert found.deciding_budget_s == 180.0
    assert [type(note) for note in found.notes] == [FewSettingsTried, UncheckedLosses]
    assert all("--budget 3m" in note.text() for note in found.notes)


def test_what_was_not_checked_is_the_reason_why_a_gain_is_not_confirmed() -> None:
    found, default, other = (TunedSetting(row, row, "tf", 32, 2, 1, 1, "fp32") for row in ("quick", "usual", "bf16"))
    gain = Gain(1.5, low=1.4, high=1.6, is_preview=False)
    beside = (Alternative(default, "default", gain), Alternative(other, None, failure="not checked"))
    report = TuningReport("net", "fps", None, "better", found, found, beside, seconds=100.0, is_confirmed=True)
    recommended, _gain, reason, _note = recommendation_texts(with_unchecked(report, ("bf16",), 50.0, 10.0))
    assert recommended == "Recommended (until confirmed): quick"
    assert reason == "Not confirmed: no time was left to check the loss of bf16. --budget 3m should be enough to tell."


def test_time_for_checks_is_not_said_to_decide_what_no_budget_decides() -> None:
    busy = replace(
        TuningReport("net", "fps", None, "doubtful", seconds=100.0), reservations=(Reservation("busy", "usual"),)
    )
    found = with_unchecked(busy, ("bf16",), 50.0, 10.0)
    assert found.deciding_budget_s is None
    reason = next(text for text in recommendation_texts(found) if text.startswith("Not confirmed"))
    assert "More launches will not help" in reason
    assert "--budget" not in reason


def test_a_row_that_was_not_checked_is_told_by_its_kind_and_not_by_its_words() -> None:
    checks = LossChecks(OPTIONS, 30.0, lambda _line: None)
    planned = checks.check(table(), [table().group.cells[0].id], left_s=0.0)
    assert {type(failure) for failure in planned.absent.values()} == {Unchecked}
    assert Failure(UNCHECKED.stage, UNCHECKED.message, UNCHECKED.hint) != UNCHECKED


def test_the_command_of_a_row_names_what_differs_from_what_irbench_train_does_by_itself() -> None:
    options = TuneTrainingOptions(
        batch=(32, 64), precision=("fp32", "mixed_bfloat16"), loss="mse", data="photos/", check_steps=16
    )
    run = RunOptions(models=("net.keras",), imports=("mine", "yours"), cpus=(0, 1))
    row = next(cell for cell in table(options).group.cells if cell.id == "tf-cpu-b64-mixed_bfloat16-on-auto-1-native")
    assert " ".join(command_of(row, options, run)) == (
        "irbench train net.keras --import mine --import yours --data photos/ --loss mse --batch 64"
        " --precision mixed_bfloat16 --xla on --workers 1 --cpus 0-1 --check-steps 16 --threads native"
    )


def test_irbench_train_reads_the_command_of_a_row_as_what_the_search_was_asked_for() -> None:
    asked: dict[str, Any] = {
        "data": "photos/", "loss": "mse", "optimizer": "sgd", "learning_rate": 0.001, "check_steps": 16,
        "loss_distance": 0.3, "objective": "cost",
    }  # fmt: skip
    shared: dict[str, Any] = {
        "imports": ("mine", "yours"), "seed": 3, "cpus": (0, 1), "within": 0.025, "deadline": 900.0,
    }  # fmt: skip
    options = TuneTrainingOptions(batch=(32, 64), budget=1200.0, **asked)
    run = RunOptions(models=("net.keras",), no_lock=True, name="night", **shared)
    row = next(cell for cell in table(options).group.cells if cell.id == "tf-cpu-b64-on-auto-1-native")
    program, command, *words = command_of(row, options, run)
    assert (program, command) == ("irbench", "train")
    read = train_command.make_context("train", words).params
    settings = {"batch": (64,), "xla": ("on",), "prefetch": ("auto",), "workers": ("1",), "threads": ("native",)}
    expected = {**asked, **shared, **settings, "model": "net.keras", "launches": 4}
    assert {name: read[name] for name in expected} == expected
    assert not any(flag in words for flag in ("--budget", "--name", "--no-lock"))


def test_a_search_has_each_of_its_options_on_the_command_line_and_none_of_those_that_all_rows_need() -> None:
    fields = {item.name for item in dataclasses.fields(TuneTrainingOptions)}
    assert fields == TUNE_TRAINING.own_options.keys()
    assert fields <= TUNE_TRAINING.options.keys()
    assert not fields & {"design", "launches", "xprof"}


def test_several_values_of_what_a_function_does_by_itself_are_refused_and_not_tried() -> None:
    own: dict[str, Any] = {"data": "samples.py:make", "prefetch": ("0", "auto")}
    assert worth_trying(TuneTrainingOptions(**own)).workers == ("auto",)
    assert worth_trying(TuneTrainingOptions()).workers == ("auto", "1")
    assert worth_trying(TuneTrainingOptions(**own, workers=("1", "4"))).workers == ("1", "4")
    refused: tuple[dict[str, Any], ...] = ({"workers": ("1", "4")}, {"cache": ("off", "on")})
    for asked in refused:
        (name,) = asked
        with pytest.raises(
            IrbenchError, match=f"--{name} changes nothing where a function makes the samples"
        ) as caught:
            training_request("net", TuneTrainingOptions(**own, **asked), RunOptions())
        assert caught.value.hint
