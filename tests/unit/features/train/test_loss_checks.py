"""Losses are checked before steps are timed: what ends a check, and what rows are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from training_steps import FALLING
from virtual_watches import VirtualTime

from irbench.core.record import Stage
from irbench.errors import IrbenchError
from irbench.features.train import loss_checks
from irbench.features.train.loss_checks import UNCHECKED, LossChecks
from irbench.features.train.options import TrainOptions
from irbench.features.train.training_rows import TrainingRows, training_of
from irbench.runner.plan import PlannedGroup
from irbench.spec import Load
from irbench.spec.training import ModelFacts, TrainedModel, TrainingArtifact, TrainingData
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut

FACTS = ModelFacts("net", (32, 32, 3), 10, 1000, "sparse_categorical_crossentropy", "adam")
DATA = TrainingData("images", ("cat", "dog"), 100)
BOTH = TrainOptions(precision=("fp32", "mixed_bfloat16"))
DEADLINE_S = 30.0


def checked(
    monkeypatch: pytest.MonkeyPatch, options: TrainOptions, error: IrbenchError | None, stages: Sequence[Stage] = ()
) -> PlannedGroup:
    """Return the table after its checks; rows in fp32 say these stages and end with an error, the others train."""

    def call(
        _target: str,
        _backend: str,
        training: TrainingArtifact,
        *_: object,
        say: Callable[[Stage], None],
        **_others: Any,
    ) -> tuple[str, tuple[float, ...]]:
        if training.settings.precision == "fp32" and error is not None:
            for stage in stages:
                say(stage)
            raise error
        return "loss", FALLING.losses

    monkeypatch.setattr(loss_checks, "call_in_worker", call)
    return all_checked(table(options), options)


def table(options: TrainOptions) -> PlannedGroup:
    return TrainingRows(options, TrainedModel("net"), FACTS, DATA, threads=(2,), cpus=None, seed=0).group()


def all_checked(planned: PlannedGroup, options: TrainOptions) -> PlannedGroup:
    checks = LossChecks(options, DEADLINE_S, lambda _text: None)
    return checks.check(planned, {cell.id for cell in planned.group.cells})


@pytest.mark.parametrize(
    ("error", "said", "stage"),
    [
        (WorkerDied("It crashed with SIGSEGV.", crash="SIGSEGV"), ("import", "compile"), "compile"),
        (WorkerTimedOut("It gave no answer within 30 s and was ended."), ("import", "compile", "run"), "run"),
        (CallFailed("there is no such device"), ("import",), "import"),
        (WorkerDied("It ended with exit code 1."), (), "start"),
    ],
)
def test_what_ends_a_check_is_recorded_with_the_stage_that_it_ended(
    monkeypatch: pytest.MonkeyPatch, error: IrbenchError, said: Sequence[Stage], stage: Stage
) -> None:
    (failure,) = checked(monkeypatch, BOTH, error, said).absent.values()
    assert failure.stage == stage
    assert ("--deadline 60s" in (failure.hint or "")) == isinstance(error, WorkerTimedOut)


def test_a_loss_that_does_not_fall_fails_the_check_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: object, **_others: object) -> tuple[str, tuple[float, ...]]:
        return "loss", (2.0,) * 32

    monkeypatch.setattr(loss_checks, "call_in_worker", call)
    left = all_checked(table(BOTH), BOTH)
    assert {failure.stage for failure in left.absent.values()} == {"accuracy"}


def test_another_precision_is_held_against_fp32_and_against_nothing_where_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reference_of_mixed(error: IrbenchError | None) -> float | None:
        cells = checked(monkeypatch, BOTH, error).group.cells
        (check,) = (cell.loss for cell in cells if training_of(cell).settings.precision != "fp32")
        assert check is not None
        return check.reference

    assert reference_of_mixed(None) == FALLING.last
    assert reference_of_mixed(WorkerDied("It crashed with SIGSEGV.")) is None


def test_rows_are_checked_when_they_are_asked_for_with_fp32_of_their_batch_and_each_computation_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained: list[tuple[int, str]] = []

    def call(_target: str, _backend: str, training: TrainingArtifact, load: Load, *_: object, **_others: object) -> Any:
        trained.append((load.batch, training.settings.precision))
        return "loss", FALLING.losses if training.settings.precision == "fp32" else (2.0,) * 32

    monkeypatch.setattr(loss_checks, "call_in_worker", call)
    options = TrainOptions(batch=(32, 64, 128), precision=("fp32", "mixed_bfloat16"), prefetch=("0", "auto"))
    checks = LossChecks(options, DEADLINE_S, lambda _text: None)
    planned = checks.check(table(options), {"tf-cpu-b32-fp32-0"})
    planned = checks.check(planned, {"tf-cpu-b64-mixed_bfloat16-auto"})
    assert trained == [(32, "fp32"), (64, "fp32"), (64, "mixed_bfloat16")]
    assert planned.absent.keys() == {"tf-cpu-b64-mixed_bfloat16-0", "tf-cpu-b64-mixed_bfloat16-auto"}
    known = {cell.id for cell in planned.group.cells if cell.loss is not None}
    assert known == {f"tf-cpu-b{batch}-fp32-{prefetch}" for batch in (32, 64) for prefetch in ("0", "auto")}


CHECK_S = 10.0


@pytest.fixture
def deadlines(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The deadline of each check, each of which takes :data:`CHECK_S`, or its deadline where that is less."""
    given: list[float] = []
    now = VirtualTime()

    def call(*_: object, deadline_s: float, **_others: object) -> tuple[str, tuple[float, ...]]:
        given.append(deadline_s)
        now.s += min(CHECK_S, deadline_s)
        if deadline_s < CHECK_S:
            raise WorkerTimedOut("It gave no answer and was ended.")
        return "loss", FALLING.losses

    monkeypatch.setattr(loss_checks, "Stopwatch", now.watch)
    monkeypatch.setattr(loss_checks, "call_in_worker", call)
    return given


def test_a_check_that_is_expected_to_end_too_late_is_not_begun_and_its_row_says_why(deadlines: list[float]) -> None:
    checks = LossChecks(BOTH, DEADLINE_S, lambda _text: None)
    planned = table(BOTH)
    fp32, mixed = (cell.id for cell in planned.group.cells)
    planned = checks.check(planned, {fp32, mixed}, left_s=1.9 * CHECK_S)
    assert deadlines == [1.9 * CHECK_S]
    assert planned.absent == {mixed: UNCHECKED}
    assert "--budget" in (UNCHECKED.hint or "")


def test_a_check_that_takes_more_than_what_was_left_is_ended_and_counts_as_not_made(deadlines: list[float]) -> None:
    checks = LossChecks(BOTH, DEADLINE_S, lambda _text: None)
    planned = checks.check(table(BOTH), {"tf-cpu-b32-fp32"}, left_s=0.5 * CHECK_S)
    assert deadlines == [0.5 * CHECK_S]
    assert set(planned.absent.values()) == {UNCHECKED}


def test_checks_share_a_process_of_equal_threads_unless_they_run_code_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared: list[tuple[object, object]] = []

    def call(*_: object, process: object, kind: object, **_others: object) -> tuple[str, tuple[float, ...]]:
        shared.append((process, kind))
        return "loss", FALLING.losses

    monkeypatch.setattr(loss_checks, "call_in_worker", call)
    all_checked(table(BOTH), BOTH)
    (first, kind), (second, other) = shared
    assert first is second is not None
    assert kind == other
    own = TrainingRows(BOTH, TrainedModel("net.py:make"), FACTS, DATA, threads=(2,), cpus=None, seed=0).group()
    shared.clear()
    all_checked(own, BOTH)
    assert [process for process, _ in shared] == [None, None]


def test_a_row_is_checked_whatever_is_left_where_that_is_asked_and_the_others_are_not(deadlines: list[float]) -> None:
    checks = LossChecks(BOTH, DEADLINE_S, lambda _text: None)
    planned = table(BOTH)
    fp32, mixed = (cell.id for cell in planned.group.cells)
    planned = checks.check(planned, {fp32, mixed}, 0.5 * CHECK_S, {fp32})
    assert deadlines == [DEADLINE_S]
    assert planned.absent == {mixed: UNCHECKED}
