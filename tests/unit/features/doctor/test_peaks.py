"""Peaks measured through scripted backends, what is kept of them, and the products they are measured with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from documents import cell, document, failed, group
from launches import measured, synchronous
from machines import OVERHEAD, facts
from made_peaks import peaks

from irbench.across_runs.differences import fingerprint
from irbench.api.progress import Reporter
from irbench.core.address import BackendAddress
from irbench.core.record import CellLaunch, LaunchRecord
from irbench.core.result import RunDocument
from irbench.core.row import CellResult
from irbench.errors import ExitCode, IrbenchError
from irbench.features.doctor import peaks as api_peaks
from irbench.features.doctor.machine import describe_machine
from irbench.features.doctor.matrix_chain import MatrixChain
from irbench.features.doctor.memory_hierarchy import BandwidthPlan, MemoryLevel
from irbench.features.doctor.options import DoctorOptions
from irbench.features.doctor.peaks import (
    PeakPlan,
    WithinTime,
    disturbed_share,
    fastest_rows,
    keep_whole_peaks,
    matrix_chains,
    matrix_peaks,
    measure_peaks,
    peak_plan,
    runtime_versions,
)
from irbench.features.doctor.report import Diagnosis, PeakReport, Report
from irbench.measure.lock import measuring
from irbench.roofline import MachinePeaks
from irbench.runner import launch
from irbench.runs.work import known_peaks
from irbench.spec import Timing
from irbench.stats.stopping_rule import Next
from irbench.store import bundles
from irbench.store.kept_peaks import keep_peaks
from irbench.store.runs import Store
from irbench.system import host

pytestmark = pytest.mark.usefixtures("known_backends")

SMALL, LARGE = MatrixChain(16, 2), MatrixChain(32, 2)
ONE_LAUNCH = Timing(min_launches=1, max_launches=1, blocks=2, max_blocks=2, min_blocks=1, most_blocks=2)
CPU = host.allowance().cpus[0]
CALL_MS = 0.3
"""What a call of a scripted backend takes, in virtual time."""


@pytest.fixture
def measure(tmp_path: Path) -> Callable[[PeakPlan], MachinePeaks | None]:
    def measured(plan: PeakPlan) -> MachinePeaks | None:
        with lock() as own:
            return measure_peaks(
                plan, DoctorOptions(backend="fake-a", cpus=(CPU,), results=tmp_path), tmp_path, own, silent()
            )

    return measured


@contextmanager
def lock() -> Iterator[object]:
    with measuring("a test", insist=False) as own:
        yield own


def silent() -> Reporter:
    return Reporter(lambda _line: None, lambda _progress: None)


def this_machine() -> MachinePeaks:
    return peaks(fingerprint(host.describe()))


def small_plan(*backends: str, **changes: object) -> PeakPlan:
    bandwidth = BandwidthPlan((CPU,), (MemoryLevel("memory", 1, 64 << 10, None),), launches=1, window_ns=100_000)
    plan = PeakPlan((SMALL, LARGE), tuple(map(BackendAddress, backends)), (1,), bandwidth, ONE_LAUNCH)
    return replace(plan, **changes)  # type: ignore[arg-type]


@pytest.mark.ci
def test_the_largest_product_of_equal_time_is_the_peak(
    measure: Callable[[PeakPlan], MachinePeaks | None], tmp_path: Path
):
    found = measure(small_plan("fake-a"))
    assert found is not None
    (peak,) = found.compute
    assert (peak.precision, peak.threads, peak.backend, peak.side) == ("fp32", 1, "fake-a", 32)
    assert peak.gflop_per_s == pytest.approx(LARGE.operations / CALL_MS / 1e6, rel=0.01)
    assert {(each.level, each.access) for each in found.bandwidth} == {
        ("memory", access) for access in ("read", "copy", "add")
    }
    assert found.command == f"irbench doctor --peak --backend fake-a --cpus {CPU}"
    assert found.run_id is not None
    document = Store(tmp_path).load(Store(tmp_path).find(found.run_id))
    assert [table.model for table in document.groups] == [LARGE.name]
    assert document.plan.io == "bound"


@pytest.mark.ci
def test_where_time_is_up_no_further_size_is_tried(
    measure: Callable[[PeakPlan], MachinePeaks | None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(api_peaks, "_SEARCH_S", 0.0)
    found = measure(small_plan("fake-a"))
    assert found is not None
    assert found.compute == ()
    assert found.bandwidth


@pytest.mark.ci
def test_products_that_other_programs_disturbed_are_not_measured_again_and_not_kept(
    measure: Callable[[PeakPlan], MachinePeaks | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(launch, "foreign_cpu_ns", lambda before, after: after.at_ns - before.at_ns)
    found = measure(small_plan("fake-a"))
    assert found is not None
    assert (found.disturbed_share, len(found.compute)) == (1.0, 1)
    assert len(list((tmp_path / "runs").glob("*/*"))) == 1
    assert keep_whole_peaks(found, DoctorOptions()) == "disturbed"


def test_without_a_backend_the_bandwidth_is_measured_all_the_same(
    measure: Callable[[PeakPlan], MachinePeaks | None],
):
    found = measure(small_plan())
    assert found is not None
    assert (found.compute, found.run_id) == ((), None)
    assert found.bandwidth


def test_an_interrupt_keeps_what_was_known(
    measure: Callable[[PeakPlan], MachinePeaks | None], monkeypatch: pytest.MonkeyPatch
):
    before = this_machine()
    keep_peaks(bundles.home(), before)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api_peaks, "measure_bandwidth", interrupt)
    assert measure(small_plan()) is None
    assert known_peaks() == before


def test_peaks_of_the_whole_machine_replace_those_that_were_known():
    newer = replace(this_machine(), measured="2026-02-28T00:00:00+00:00")
    for found in (this_machine(), newer):
        assert keep_whole_peaks(found, DoctorOptions()) is None
        assert known_peaks() == found


@pytest.mark.parametrize("options", [DoctorOptions(backend="fake-a"), DoctorOptions(cpus=(CPU,))])
@pytest.mark.parametrize("is_known", [True, False])
def test_peaks_of_a_part_of_the_machine_are_never_kept(options: DoctorOptions, is_known: bool):
    before = this_machine() if is_known else None
    if before is not None:
        keep_peaks(bundles.home(), before)
    assert keep_whole_peaks(replace(this_machine(), run_id=None), options) == "restricted"
    assert known_peaks() == before


def test_what_is_known_is_not_overwritten_by_a_measurement_that_lacks_it():
    before = this_machine()
    keep_peaks(bundles.home(), before)
    alone = {
        "compute": tuple(peak for peak in before.compute if peak.threads == 1),
        "bandwidth": tuple(found for found in before.bandwidth if found.threads == 1),
    }
    assert keep_whole_peaks(replace(before, compute=()), DoctorOptions()) == "no-products"
    assert keep_whole_peaks(replace(before, bandwidth=()), DoctorOptions()) == "no-bandwidth"
    assert keep_whole_peaks(replace(before, **alone), DoctorOptions()) == "fewer-cores"
    assert known_peaks() == before


def changed(level: str, factor: float) -> MachinePeaks:
    """Return peaks of which several cores attain so much of what one core does, of a precision or a level."""
    found = this_machine()
    compute = tuple(
        replace(peak, gflop_per_s=150.0 * factor) if peak.threads > 1 and peak.precision == level else peak
        for peak in found.compute
    )
    single = {(rate.level, rate.access): rate.gb_per_s for rate in found.bandwidth if rate.threads == 1}
    bandwidth = tuple(
        replace(rate, gb_per_s=factor * single[rate.level, rate.access])
        if rate.threads > 1 and rate.level == level
        else rate
        for rate in found.bandwidth
    )
    return replace(found, compute=compute, bandwidth=bandwidth)


@pytest.mark.parametrize(
    ("level", "factor", "reason"),
    [
        ("fp32", 0.98, "slower-together"),
        ("L1d", 0.98, "slower-together"),
        ("memory", 0.8, "slower-together"),
        ("memory", 0.97, None),
        ("L3", 0.97, None),
    ],
)
def test_peaks_of_several_cores_below_those_of_one_are_not_kept(level: str, factor: float, reason: str | None):
    found = changed(level, factor)
    assert keep_whole_peaks(found, DoctorOptions()) == reason
    assert known_peaks() == (None if reason else found)


def test_peaks_of_a_busy_machine_are_not_kept_and_those_kept_before_are_not_used():
    busy = replace(this_machine(), disturbed_share=0.6)
    assert keep_whole_peaks(busy, DoctorOptions()) == "disturbed"
    keep_peaks(bundles.home(), busy)
    assert known_peaks() is None


def test_no_launch_begins_after_the_time_of_a_run(monkeypatch: pytest.MonkeyPatch):
    following = WithinTime(most_s=0.0).following
    assert following(None, (), Timing(), None, None).stopped_by == "budget"  # type: ignore[arg-type]
    monkeypatch.setattr(api_peaks, "next_launch", lambda *_: Next(("ort/fp32",)))
    assert WithinTime(most_s=60.0).following(None, (), Timing(), None, None).cells == ("ort/fp32",)  # type: ignore[arg-type]


def test_bandwidth_alone_is_kept_where_nothing_is_known():
    bare = replace(this_machine(), compute=())
    assert keep_whole_peaks(bare, DoctorOptions()) is None
    assert known_peaks() == bare


def test_nothing_is_known_before_anything_was_measured():
    assert known_peaks() is None


def test_a_plan_has_every_installed_backend_that_reads_onnx_with_one_core_and_all():
    plan = peak_plan(DoctorOptions(), describe_machine())
    names = [address.name for address in plan.backends]
    assert {"fake-a", "ort"} <= set(names)
    assert "tf" not in names
    cores = len(host.one_per_core(host.allowance().cpus))
    assert plan.threads == tuple(dict.fromkeys((1, min(cores, host.allowance().threads))))
    assert len(plan.bandwidth.cpus) == plan.threads[-1]


def test_one_backend_can_be_chosen():
    plan = peak_plan(DoctorOptions(backend="fake-b"), describe_machine())
    assert plan.backends == (BackendAddress("fake-b"),)


@pytest.mark.parametrize(
    ("backend", "code", "message"),
    [
        ("fake-absent", ExitCode.NOT_INSTALLED, "fake-absent"),
        ("nothing-like-it", ExitCode.USAGE, "There is no backend"),
        ("tf", ExitCode.USAGE, "does not read ONNX"),
    ],
)
def test_a_backend_that_cannot_be_measured_is_refused(backend: str, code: ExitCode, message: str):
    with pytest.raises(IrbenchError, match=message) as caught:
        peak_plan(DoctorOptions(backend=backend), describe_machine())
    assert caught.value.hint
    assert caught.value.exit_code == code


def test_a_processor_that_is_not_there_is_refused():
    with pytest.raises(IrbenchError, match="not available"):
        peak_plan(DoctorOptions(cpus=(9999,)), describe_machine())


def test_an_interrupted_measurement_is_told_by_the_exit_code():
    now = datetime(2026, 2, 3, tzinfo=UTC)
    for peak, code in ((PeakReport(None, "interrupted", now), ExitCode.INTERRUPTED), (None, ExitCode.OK)):
        found = Diagnosis(Report(facts(), (), OVERHEAD, peak=peak), ())
        assert found.exit_code == code
        assert found.peaks is None


SMALL_SQUARES, LARGE_SQUARES, INTEGERS = (
    MatrixChain(100, 10),
    MatrixChain(200, 10),
    MatrixChain(100, 10, quantised=True),
)
CHAINS = (SMALL_SQUARES, LARGE_SQUARES, INTEGERS)


def row(backend: str, milliseconds: float, precision: str = "fp32", threads: int = 1, **changes: Any) -> CellResult:
    """Return a row whose fastest calls take so long."""
    row_id = f"{backend}-{precision}-t{threads}"
    return cell(backend, milliseconds, precision=precision, threads=threads, **{"id": row_id, **changes})


def run(launches: int = 6, **tables: tuple[CellResult, ...]) -> tuple[RunDocument, list[LaunchRecord]]:
    """Return a run and its launches, each a little slower than the one before and all with a disturbed call."""
    names = {"small": SMALL_SQUARES.name, "large": LARGE_SQUARES.name, "integers": INTEGERS.name}
    document_ = document(*(group(*rows, model=names[name]) for name, rows in tables.items()))
    records = [
        LaunchRecord(number, launch, tuple(launched(each, launch) for each in rows if each.latency_ms), {}, ())
        for number, rows in enumerate(tables.values())
        for launch in range(launches)
    ]
    return document_, records


def launched(row_: CellResult, launch: int) -> CellLaunch:
    assert row_.latency_ms is not None
    fastest_ns = row_.latency_ms.p50 * 1e6 * (1 + launch / 100)
    rounds = [synchronous(0, [9 * fastest_ns, 2 * fastest_ns]), synchronous(1, [fastest_ns, 3 * fastest_ns])]
    return measured(row_.id, rounds)


def test_the_rate_is_the_operations_over_the_time_of_the_fastest_call_of_a_launch():
    (peak,) = matrix_peaks(*run(small=(row("ort", 2.0),)), CHAINS)
    assert peak.gflop_per_s == pytest.approx(10 / 1.025, rel=1e-3)
    assert (peak.low, peak.high) == (pytest.approx(10 / 1.05), pytest.approx(10.0))
    assert (peak.backend, peak.side, peak.launches, peak.confidence) == ("ort", 100, 6, 0.95)


def test_samples_of_several_calls_are_divided_by_them():
    found, records = run(small=(row("ort", 2.0),))
    several = [replace(each, cells=(replace(each.cells[0], calls_per_sample=4),)) for each in records]
    (peak,) = matrix_peaks(found, several, CHAINS)
    assert peak.high == pytest.approx(40.0)


def test_the_fastest_of_all_sizes_and_backends_is_the_peak():
    found = run(small=(row("ort", 2.0), row("openvino", 1.0)), large=(row("ort", 10.0), row("openvino", 20.0)))
    (peak,) = matrix_peaks(*found, CHAINS)
    assert (peak.backend, peak.side, peak.high) == ("openvino", 100, pytest.approx(20.0))


def test_precisions_and_numbers_of_threads_have_peaks_of_their_own():
    found = run(
        integers=(row("ort", 0.5, "int8"), row("ort", 0.3, "int8", 2)),
        small=(row("ort", 2.0), row("ort", 1.1, threads=2), row("openvino", 1.0, "bf16")),
    )
    keys = [(peak.precision, peak.threads) for peak in matrix_peaks(*found, CHAINS)]
    assert keys == [("fp32", 1), ("fp32", 2), ("bf16", 1), ("int8", 1), ("int8", 2)]


def test_what_was_computed_counts_and_not_what_was_asked():
    computed = row("ort", 2.0, "int8", effective={"precision": "fp32"})
    (peak,) = matrix_peaks(*run(integers=(computed,)), CHAINS)
    assert peak.precision == "fp32"


def test_wrong_answers_and_failures_are_no_peak():
    wrong = row("openvino", 0.001, state="mismatch")
    assert [peak.backend for peak in matrix_peaks(*run(small=(wrong, row("ort", 2.0), failed("tf"))), CHAINS)] == [
        "ort"
    ]
    assert matrix_peaks(*run(small=(wrong,)), CHAINS) == ()
    assert fastest_rows(*run(small=(wrong,)), CHAINS) == {}


def test_the_fastest_row_of_each_precision_and_threads_is_measured_again():
    found = run(
        small=(row("ort", 2.0), row("openvino", 1.9), row("ort", 1.0, threads=2)),
        large=(row("ort", 10.0), row("openvino", 20.0), row("ort", 9.0, threads=2)),
        integers=(row("ort", 0.5, "int8"),),
    )
    assert fastest_rows(*found, CHAINS) == {
        LARGE_SQUARES.name: {"ort-fp32-t1"},
        SMALL_SQUARES.name: {"ort-fp32-t2"},
        INTEGERS.name: {"ort-int8-t1"},
    }


def test_the_share_of_disturbed_blocks_is_that_of_all_tables():
    tables = [group(row("ort", 2.0), blocks_measured=30, blocks_disturbed=disturbed) for disturbed in (0, 15)]
    assert disturbed_share(document(*tables)) == 0.25
    assert disturbed_share(document(group(failed(), blocks_measured=0))) is None


def test_versions_are_those_of_backends_with_right_answers():
    versioned = row("ort", 2.0, effective={"precision": "fp32", "version": "1.23.0"})
    wrong = row("openvino", 1.0, state="mismatch", effective={"precision": "fp32", "version": "2025.3"})
    found, _ = run(small=(versioned, wrong, row("other", 2.0), failed("tf")))
    assert runtime_versions(found) == {"ort": "1.23.0"}


def test_fewer_launches_than_an_interval_needs_give_no_confidence():
    (peak,) = matrix_peaks(*run(launches=5, small=(row("ort", 2.0),)), CHAINS)
    assert (peak.launches, peak.confidence) == (5, None)


@pytest.mark.parametrize("threads", [1, 2, 8, 64])
def test_every_graph_has_work_for_milliseconds_and_copies_count_for_little(threads: int):
    for chain in matrix_chains(threads):
        copied = 2 * 4 * chain.side**2
        assert chain.operations > 1e9
        assert chain.operations / copied > 500


def test_many_threads_get_larger_matrices():
    assert max(chain.side for chain in matrix_chains(64)) > max(chain.side for chain in matrix_chains(2))
