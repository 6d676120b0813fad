"""Answers of several processes of one cell, as the answer of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irbench.core.record import Evidence
from irbench.measure.ledger import CommonWindow
from irbench.runner.instances import JOINED, as_round, joined_shares
from irbench.worker.cell import Prepared, Warmed
from irbench.worker.failures import CallFailed
from irbench.worker.run import Share

WINDOW = CommonWindow(reference=0, settle_calls=2, calls=4)


def prepared(answer: float, **effective: str) -> Prepared:
    return Prepared({"precision": "fp32", "device": "cpu", **effective}, ((np.full(1, answer),),))


def test_the_answers_of_every_process_are_kept() -> None:
    joined = JOINED["prepare"]([prepared(1), prepared(2)])
    assert [float(outputs[0][0]) for outputs in joined.outputs] == [1, 2]
    slow, slower = (replace(prepared(1), first_inference_s=seconds) for seconds in (1.0, 2.0))
    assert JOINED["prepare"]([slow, slower]).first_inference_s == 2.0
    assert JOINED["answer_again"]([((1,), (2,)), ((3,),)]) == ((1,), (2,), (3,))


@pytest.mark.parametrize("difference", [{"precision": "bf16"}, {"device": "npu"}])
def test_processes_that_compute_otherwise_are_no_row(difference: dict[str, str]) -> None:
    with pytest.raises(CallFailed, match=f"differ in {next(iter(difference))}"):
        JOINED["prepare"]([prepared(1), prepared(1, **difference)])


def test_two_processes_are_twice_as_fast_and_need_the_sum_of_memory() -> None:
    each = [
        Warmed(8e6, 8e6, 1, {"compile": 5}, {"warm_up": 100}),
        Warmed(8e6, 8e6, 1, {"compile": 7}, {"warm_up": 120}),
    ]
    joined = JOINED["warm_up"](each)
    assert joined.completion_ns == pytest.approx(4e6)
    assert joined.call_ns == 8e6
    assert (joined.phases_ns, joined.peak_memory_bytes) == ({"compile": 7}, {"warm_up": 220})
    assert JOINED["peak_memory_bytes"]([100, 120]) == 220
    assert JOINED["peak_memory_bytes"]([100, None]) is None


def share(begin_ns: int, wait_ns: int | None = 5) -> Share:
    ends = begin_ns + 100 * np.arange(1, 21, dtype=np.int64)
    return Share(np.stack([ends - 100, ends], axis=1), Evidence(2000, 1500, wait_ns, 1, 2, 3, 4))


def test_a_round_holds_the_calls_and_the_evidence_of_all() -> None:
    shares = [share(0), share(50)]
    round_ = as_round(3, joined_shares(shares, WINDOW), shares)
    assert round_.block == 3
    assert round_.latency_ns.tolist() == [100] * 8
    assert round_.completion_ns[-1] == 400
    assert round_.evidence == Evidence(2000, 3000, 10, 2, 4, 6, 8)


def test_a_wait_that_one_process_does_not_know_is_unknown() -> None:
    shares = [share(0), share(50, None)]
    assert as_round(0, joined_shares(shares, WINDOW), shares).evidence.run_queue_wait_ns is None


def test_processes_that_ran_one_after_the_other_are_no_row() -> None:
    with pytest.raises(CallFailed, match="did not run side by side"):
        joined_shares([share(0), share(90_000)], WINDOW)
