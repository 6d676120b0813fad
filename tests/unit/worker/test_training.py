"""A training step in a worker: what its parts are, with pipelines and steps of known length in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from training_steps import TRAINING
from virtual_clock import VirtualClock

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.measure import call_parts
from irbench.measure.call_parts import part_names, part_times_ns, timed_in_turns
from irbench.spec import Load, Scalar
from irbench.worker.training import TrainingSlot, losses_of

MS = 1_000_000


class ScriptedTraining:
    """Steps of known length behind a pipeline that makes batches of known length, some of them ahead."""

    effective: Mapping[str, Scalar] = {}
    reported: Mapping[str, float] = {"loss": 1.0}

    def __init__(self, clock: VirtualClock, batch_ms: float, layers: int, ahead: int) -> None:
        self._clock, self._ahead = clock, ahead
        self._batch_ns, self._step_ns = round(batch_ms * MS), 10 * MS * layers
        self._ready_ns: list[int] = []

    def next_batch(self) -> None:
        now_ns = self._clock.read()
        self._make(now_ns)
        ready_ns = self._ready_ns.pop(0)
        self._clock.advance(max(0, ready_ns - now_ns))
        if self._ahead:
            self._make(self._clock.read())

    def _make(self, now_ns: int) -> None:
        """Begin batches: one that is waited for, and those that are made ahead, one after the other."""
        while len(self._ready_ns) < max(1, self._ahead):
            begun_ns = max([now_ns, *self._ready_ns[-1:]])
            self._ready_ns.append(begun_ns + self._batch_ns)

    def step(self) -> None:
        self._clock.advance(self._step_ns)

    def metrics(self) -> Mapping[str, float]:
        return self.reported

    @property
    def beginnings(self) -> Mapping[str, Callable[[], None]]:
        return {"host": lambda: self._clock.advance(MS), "optimizer": self.step}

    def close(self) -> None: ...


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> VirtualClock:
    virtual = VirtualClock()
    monkeypatch.setattr(call_parts, "now_ns", virtual.read)
    return virtual


def parts_ms(clock: VirtualClock, *, batch_ms: float = 5.0, layers: int = 1, ahead: int = 0) -> list[float]:
    """Return the median time of input and of compute, over steps after the first few."""
    slot = TrainingSlot(ScriptedTraining(clock, batch_ms, layers, ahead))
    for _ in range(8):
        slot.stage(())
        slot.run()
        assert slot.fetch() == ()
    assert part_names([slot]) == ("input", "step")
    moments_ns = part_times_ns([slot], 5).reshape(5, 2)
    return [float(value) / MS for value in np.median(np.diff(moments_ns, axis=1, prepend=0), axis=0)]


def test_a_pipeline_of_5_ms_beside_a_step_of_10_ms_makes_15_ms_without_prefetch(clock: VirtualClock) -> None:
    assert parts_ms(clock) == pytest.approx([5.0, 10.0], abs=0.01)


def test_it_makes_10_ms_with_prefetch(clock: VirtualClock) -> None:
    assert parts_ms(clock, ahead=1) == pytest.approx([0.0, 10.0], abs=0.01)


def test_a_pipeline_that_is_slower_than_the_step_is_waited_for_with_prefetch_too(clock: VirtualClock) -> None:
    assert parts_ms(clock, batch_ms=25.0, ahead=1) == pytest.approx([15.0, 10.0], abs=0.01)


def test_twice_the_layers_take_twice_the_compute_and_the_same_input(clock: VirtualClock) -> None:
    assert parts_ms(clock, layers=2) == pytest.approx([5.0, 20.0], abs=0.01)


def test_beginnings_are_called_by_turns_after_a_call_that_is_not_timed(clock: VirtualClock) -> None:
    called: list[str] = []

    def call(name: str, took_ms: int) -> Callable[[], None]:
        def function() -> None:
            called.append(name)
            clock.advance(MS * took_ms * (10 if called.count(name) == 1 else 1))

        return function

    taken_ns = timed_in_turns({"host": call("host", 1), "forward": call("forward", 3)}, calls=4)
    assert called == ["host", "forward"] * 5
    assert {name: float(np.max(times)) / MS for name, times in taken_ns.items()} == pytest.approx(
        {"host": 1.0, "forward": 3.0}, abs=0.01
    )


class Training:
    """A backend whose training reports the same metrics in each step."""

    def __init__(self, session: ScriptedTraining, called: Callable[[str], None] = lambda _name: None) -> None:
        self._session, self._called = session, called

    def import_training(self, *_: object) -> None:
        self._called("import_training")

    def compile_training(self, *_: object) -> ScriptedTraining:
        self._called("compile_training")
        return self._session

    def describe_model(self, *_: object) -> None: ...

    def training_program(self, *_: object) -> None: ...


def test_a_check_of_the_loss_says_each_stage_before_it_begins(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    at_call: dict[str, str] = {}
    training = Training(ScriptedTraining(clock, 5.0, 1, 0), lambda name: at_call.update({name: said[-1]}))
    monkeypatch.setattr(registry, "backend", lambda _name: training)
    assert losses_of("tf", TRAINING, Load(batch=1), "cpu", 3, "", said.append) == ("loss", (1.0, 1.0, 1.0))
    assert said == ["import", "compile", "run"]
    assert at_call == {"import_training": "import", "compile_training": "compile"}


def checked(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, metric: str, **reported: float) -> tuple[str, float]:
    """Return which metric is checked of a step that reports these, and its value."""
    session = ScriptedTraining(clock, 5.0, 1, 0)
    session.reported = reported
    monkeypatch.setattr(registry, "backend", lambda _name: Training(session))
    name, (value,) = losses_of("tf", TRAINING, Load(batch=1), "cpu", 1, metric, lambda _stage: None)
    return name, value


def test_what_must_fall_is_the_loss_or_the_only_metric_or_the_one_that_is_asked_for(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(clock, monkeypatch, "", accuracy=0.5, loss=2.0) == ("loss", 2.0)
    assert checked(clock, monkeypatch, "", energy=3.0) == ("energy", 3.0)
    assert checked(clock, monkeypatch, "g_loss", d_loss=1.0, g_loss=4.0) == ("g_loss", 4.0)


@pytest.mark.parametrize(
    ("metric", "reported", "said", "hint"),
    [
        ("", {"d_loss": 1.0, "g_loss": 2.0}, "d_loss, g_loss", "`--check-metric d_loss`"),
        ("", {}, "no number", "{'loss': loss}"),
        ("d_los", {"d_loss": 1.0, "g_loss": 2.0}, "d_los", "d_loss, g_loss"),
        ("loss", {}, "no loss", "no number at all"),
    ],
)
def test_a_metric_that_no_step_reports_is_answered_by_those_that_it_reports(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, metric: str, reported: dict[str, float], said: str, hint: str
) -> None:
    with pytest.raises(IrbenchError, match=said) as caught:
        checked(clock, monkeypatch, metric, **reported)
    assert hint in (caught.value.hint or "")


def test_a_step_that_cannot_be_divided_has_no_beginnings() -> None:
    assert timed_in_turns({}, calls=3) == {}
