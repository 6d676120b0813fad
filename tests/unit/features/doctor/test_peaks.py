"""Peaks measured through scripted backends, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from machines import OVERHEAD, facts
from made_peaks import peaks

from irbench.across_runs.environments import fingerprint
from irbench.api.progress import Reporter
from irbench.core.address import BackendAddress
from irbench.errors import ExitCode, IrbenchError
from irbench.features.doctor import peaks as api_peaks
from irbench.features.doctor.bandwidth import BandwidthPlan, MemoryLevel
from irbench.features.doctor.machine import describe_machine
from irbench.features.doctor.options import DoctorOptions
from irbench.features.doctor.peaks import PeakPlan, keep_whole_peaks, measure_peaks, peak_plan
from irbench.features.doctor.report import PeakReport, Report
from irbench.features.doctor.run import Diagnosis
from irbench.measure.lock import measuring
from irbench.onnx.matrix_chain import MatrixChain
from irbench.roofline import MachinePeaks
from irbench.runs.work import known_peaks
from irbench.spec import Timing
from irbench.store import Store, bundles
from irbench.store.peaks import keep_peaks
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
    assert document.plan["io"] == "bound"


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
