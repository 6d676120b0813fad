"""Rounds of launches end when there are enough, when the time is up, or when nothing is left to launch."""

from __future__ import annotations

import launches
import pytest

from irbench.core.activity import Activity
from irbench.core.record import Failure, OutputError, Stage
from irbench.core.row import State
from irbench.core.soak_row import SoakRow
from irbench.measure import clock
from irbench.runner.rounds import CellOutcome, Rounds, state_of
from irbench.runner.run_progress import Progress

LAUNCH_S = 10.0


class Table:
    """Launches of three rows, each of ten seconds of a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **limits: object) -> None:
        self.now_s = 0.0
        self.rows = ["ort", "openvino", "tf"]
        self.launched: list[str] = []
        self.stored: list[int] = []
        self.told: list[Progress] = []
        monkeypatch.setattr(clock, "now_ns", lambda: round(self.now_s * 1e9))
        given = {"model": "resnet50", "most": 4, "budget_s": 1000.0, "seed": "0", "listen": self.told.append}
        self.rounds = Rounds(**{**given, **limits})  # type: ignore[arg-type]

    def launch(self, row: str) -> None:
        self.rounds.say(Activity("cold-launch", row))
        self.launched.append(row)
        self.now_s += LAUNCH_S

    def run(self) -> str:
        return self.rounds.run(lambda: self.rows, self.launch, lambda: self.stored.append(len(self.launched)))


def test_every_round_launches_every_row_once_and_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(monkeypatch)
    assert table.run() == "launches"
    rounds = [table.launched[start : start + 3] for start in range(0, 12, 3)]
    assert all(sorted(launched) == sorted(table.rows) for launched in rounds)
    assert table.stored == [3, 6, 9, 12]


def test_the_order_differs_between_rounds_and_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, other = (Table(monkeypatch, seed=seed) for seed in ("0", "0", "1"))
    for table in (first, again, other):
        table.run()
    assert len({tuple(first.launched[start : start + 3]) for start in range(0, 12, 3)}) > 1
    assert first.launched == again.launched != other.launched


@pytest.mark.parametrize(("rounds_ahead", "finished"), [(1, 3), (2, 2)])
def test_no_round_begins_that_would_end_after_the_budget(
    monkeypatch: pytest.MonkeyPatch, rounds_ahead: int, finished: int
) -> None:
    table = Table(monkeypatch, budget_s=100.0, rounds_ahead=rounds_ahead)
    assert table.run() == "budget"
    assert table.rounds.finished == finished


def test_the_first_round_runs_whatever_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(monkeypatch, budget_s=1.0)
    assert table.run() == "budget"
    assert table.stored == [3]


def test_rounds_end_where_every_row_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(monkeypatch)

    def fail(row: str) -> None:
        table.rows = [other for other in table.rows if other != row]

    assert table.rounds.run(lambda: table.rows, fail, lambda: None) == "failures"
    assert table.rounds.finished == 1


def test_progress_names_the_round_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(monkeypatch, most=2, batch=8)
    table.run()
    table.rounds.say(Activity("cold-launch", "ort"))
    assert [progress.launch for progress in table.told] == [1, 1, 1, 2, 2, 2, 2]
    assert {(progress.most_launches, progress.batch, progress.counted) for progress in table.told} == {(2, 8, "round")}


ERROR = OutputError(0.1, 0.5, 0.9, None)


@pytest.mark.parametrize(
    ("stage", "state"),
    [("verify", "mismatch"), ("plan", "not-applicable"), ("compile", "failed"), ("second answer", "failed")],
)
def test_a_failure_has_the_state_of_its_stage(stage: Stage, state: State) -> None:
    assert state_of(Failure(stage, "why")) == state


def test_who_leaves_keeps_the_error_that_was_measured() -> None:
    outcome = CellOutcome(launches.group("a").cells[0], output_error=ERROR)
    failure = Failure("measure", "It crashed.")
    outcome.leave(failure)
    assert (outcome.state, outcome.failure, outcome.output_error) == ("failed", failure, ERROR)
    row = outcome.row(SoakRow, outcome.state)
    assert (row.id, row.backend, row.artifact, row.failure) == ("a", "a", "", failure)
