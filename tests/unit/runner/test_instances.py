"""Rows of several processes: how one is named as the baseline, and how many processors they use."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from irbench.core.record import Evidence, ServedLoad
from irbench.errors import IrbenchError
from irbench.measure.ledger import CommonWindow
from irbench.runner import instances
from irbench.runner.instances import JOINED, InstanceWorkers, as_round, cpu_shares, joined_shares
from irbench.runner.requested_cells import named_baseline
from irbench.spec import BATCH, Bundle, Cell, Load, Workload
from irbench.spec.serving import OfferedLoad, Queueing
from irbench.stats.blocks import processors_in_use
from irbench.system import host
from irbench.worker.cell import PreparedSession, Warmed
from irbench.worker.cell_hosts import Share
from irbench.worker.failures import CallFailed

CELLS = tuple(
    Cell(f"ort-i{instances}", None, "ort", "cpu", Load(threads=threads, instances=instances))
    for instances, threads in ((1, 4), (2, 2), (4, 1))
)

WORKLOADS = (Workload(Bundle("net", (), ()), {BATCH: 1}),)


@pytest.mark.parametrize(
    ("asked", "row"),
    [("ort", "ort-i1"), ("ort@instances=2", "ort-i2"), ("ort 4x1", "ort-i4"), ("ort@instances=4,streams=1", "ort-i4")],
)
def test_a_number_of_instances_names_a_row(asked: str, row: str) -> None:
    assert named_baseline(asked, CELLS, WORKLOADS) == row


def test_a_number_of_instances_that_no_row_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(IrbenchError) as refused:
        named_baseline("ort@instances=3", CELLS, WORKLOADS)
    assert refused.value.hint == "The rows are: ort, ort 2x2, ort 4x1"


@pytest.mark.parametrize(("cell", "processors"), [(0, 4), (1, 4), (2, 4)])
def test_all_instances_together_use_processors(cell: int, processors: int) -> None:
    assert processors_in_use([CELLS[cell]], 8) == processors


def test_instances_that_leave_requests_out_fail() -> None:
    offered = OfferedLoad("offline", 5)
    none = np.zeros(0, np.int64)
    share = ServedLoad(offered, 1, 1, none, none, none, none)
    instances = cast("InstanceWorkers", SimpleNamespace(_share_work=lambda *_, **__: [share, share]))
    with pytest.raises(CallFailed, match="0 of 3 requests"):
        InstanceWorkers.serve(instances, 30.0, offered, Queueing())


def test_instances_that_leave_paced_calls_out_fail() -> None:
    shares = [np.array([[number, 1, 2]], np.int64) for number in range(2)]
    instances = cast("InstanceWorkers", SimpleNamespace(_load=CELLS[1].load, _share_work=lambda *_, **__: shares))
    with pytest.raises(CallFailed, match="of 100 calls together"):
        InstanceWorkers.call_at_pace(instances, 30.0, pace_ns=10, calls=100)


WINDOW = CommonWindow(reference=0, settle_calls=2, calls=4)


def prepared(answer: float, **effective: str) -> PreparedSession:
    return PreparedSession({"precision": "fp32", "device": "cpu", **effective}, ((np.full(1, answer),),))


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


@pytest.fixture(autouse=True)
def _hyperthreads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hardware threads a core, numbered as Linux does: 0 and 8 are one core of eight."""
    monkeypatch.setattr(host, "core_of", lambda cpu: str(cpu % 8))
    monkeypatch.setattr(instances, "with_siblings", lambda cpus: frozenset({*cpus, *(cpu + 8 for cpu in cpus)}))


def test_hardware_threads_of_a_core_stay_together() -> None:
    assert cpu_shares(tuple(range(16)), 2) == ((0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))


def test_shares_are_equal_and_what_is_left_over_is_idle() -> None:
    assert cpu_shares((0, 1, 2, 3, 4, 5, 6), 3) == ((0, 1), (2, 3), (4, 5))


def test_only_what_may_be_used_is_divided() -> None:
    assert cpu_shares((1, 2, 9), 2) == ((1, 9), (2,))


def test_hardware_threads_are_divided_where_cores_do_not_suffice() -> None:
    assert cpu_shares((0, 8), 2) == ((0,), (8,))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 16])
def test_no_two_shares_have_a_processor_in_common(count: int) -> None:
    shares = cpu_shares(tuple(range(16)), count)
    assert len(shares) == count
    assert len({len(share) for share in shares}) == 1
    assert len({cpu for share in shares for cpu in share}) == sum(map(len, shares))


def test_more_shares_than_processors_are_refused() -> None:
    with pytest.raises(ValueError, match="2 processors"):
        cpu_shares((0, 8), 3)
