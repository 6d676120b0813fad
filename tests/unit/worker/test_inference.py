"""Calls that a busy model server refuses are repeated, for as long as that makes sense."""

from __future__ import annotations

import pytest

from irbench.errors import RequestRefused
from irbench.worker.inference import Retries


def refused() -> None:
    raise RequestRefused("The server refused a request.")


@pytest.fixture
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr("irbench.worker.inference.sleep", waited.append)
    return waited


def test_a_call_that_is_refused_all_the_time_is_given_up(waits_s: list[float]) -> None:
    retries = Retries()
    with pytest.raises(RequestRefused):
        retries.call(refused)
    assert waits_s == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
    assert retries.refused == 7


def test_a_call_waits_on_while_others_are_answered(waits_s: list[float]) -> None:
    retries = Retries()

    def answered_in_the_end() -> str:
        if retries.refused < 50:
            retries.call(lambda: None)  # on another thread, for example
            refused()
        return "answer"

    assert retries.call(answered_in_the_end) == "answer"
    assert retries.refused == 50
    assert sum(waits_s) < 50 * 0.11
