"""Calls that share a process: each meets what the one before left, unless that failed or was of another kind."""

from __future__ import annotations

import pytest

from irbench.worker import call_in_worker
from irbench.worker.failures import CallFailed
from irbench.worker.process import SharedProcess

pytestmark = pytest.mark.ci


def number(process: SharedProcess | None, kind: str = "usual") -> int:
    return int(call_in_worker("os:getpid", deadline_s=60, process=process, kind=kind))


def test_calls_of_a_kind_share_a_process_and_those_of_another_kind_begin_another() -> None:
    with SharedProcess() as process:
        first, second, other = number(process), number(process), number(process, "other")
    assert first == second
    assert other != first
    assert number(None) not in {first, other}


def test_a_call_that_fails_after_another_one_is_repeated_in_a_fresh_process_and_leaves_none() -> None:
    with SharedProcess() as process:
        first = number(process)
        with pytest.raises(CallFailed):
            call_in_worker("os:stat", "/no/such/file", deadline_s=60, process=process, kind="usual")
        assert number(process) != first
