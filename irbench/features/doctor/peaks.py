"""Measure what this machine can attain at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from irbench.across_runs.environments import fingerprint
from irbench.api.progress import Reporter
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.result import SEARCH_RUN
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.features.doctor.bandwidth import BandwidthPlan, bandwidth_from, bandwidth_plan, measure_bandwidth
from irbench.features.doctor.facts import Machine
from irbench.features.doctor.matrix_peaks import (
    disturbed_share,
    fastest_rows,
    matrix_chains,
    matrix_peaks,
    runtime_versions,
)
from irbench.features.doctor.options import DoctorOptions
from irbench.features.doctor.peaks_view import bandwidth_progress, products_progress
from irbench.features.doctor.report import NotKept
from irbench.measure.clock import utc_now
from irbench.measure.lock import MeasurementLock
from irbench.onnx.matrix_chain import MatrixChain, write_matrix_chain
from irbench.options.values import cpu_list
from irbench.requests.known_refusals import without_refused_rows
from irbench.requests.resolve import resolve_backends
from irbench.requests.run_requests import allowed_cpus
from irbench.roofline import ComputePeak, MachinePeaks
from irbench.runner.plan import PlannedGroup, plan, with_rows
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun, measure_planned
from irbench.runs.run_destination import RunDestination
from irbench.runs.work import known_peaks
from irbench.spec import Precision, Timing
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.store import bundles
from irbench.store.peaks import keep_peaks
from irbench.store.reading import read_launches
from irbench.system import host

_COMMAND = "irbench doctor --peak"
_READS = "onnx"
_PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp16", "int8")
_ONCE = Timing(look_calls=0, min_launches=1, max_launches=1, blocks=3, max_blocks=4, min_blocks=3, most_blocks=4)
"""Which size and backend is the fastest shows in a launch; nothing but the choice is taken from it."""
_PRECISE = Timing(
    min_launches=FEWEST_LAUNCHES, max_launches=FEWEST_LAUNCHES, blocks=4, max_blocks=6, budget=600.0, sized_for=90.0
)


@dataclass(frozen=True)
class PeakPlan:
    """What is measured.

    Attributes:
        chains: Products of matrices.
        backends: Whose; none where no installed backend reads ONNX.
        threads: Numbers of threads of a process.
        bandwidth: Working sets, on which processors.
        timing: The protocol's numbers for the fastest products.
    """

    chains: tuple[MatrixChain, ...]
    backends: tuple[BackendAddress, ...]
    threads: tuple[int, ...]
    bandwidth: BandwidthPlan
    timing: Timing = _PRECISE


def peak_plan(options: DoctorOptions, machine: Machine) -> PeakPlan:
    """Return what is measured.

    Raises:
        IrbenchError: The backend is not there or does not read ONNX, or a processor is not available.
    """
    allowed = host.allowance(allowed_cpus(options.cpus))
    cpus = host.one_per_core(allowed.cpus)[: allowed.threads]
    return PeakPlan(
        chains=matrix_chains(len(cpus)),
        backends=_backends(options.backend),
        threads=tuple(dict.fromkeys((1, len(cpus)))),
        bandwidth=bandwidth_plan(machine, cpus),
    )


def measure_peaks(
    asked: PeakPlan, options: DoctorOptions, scratch: Path, lock: MeasurementLock, reporter: Reporter
) -> MachinePeaks | None:
    """Measure what was planned.

    Args:
        asked: From :func:`peak_plan`.
        options: What it was made from.
        scratch: A folder that is gone afterwards.
        lock: Our place among those who measure on this machine.
        reporter: Receives progress.

    Returns:
        ``None`` where it was interrupted.

    Raises:
        IrbenchError: A process cannot be started, or the run cannot be stored.
    """
    products = _Products(asked, options, scratch, lock, reporter).measured()
    if products is None:
        return None
    launches = asked.bandwidth.launches
    try:
        samples = measure_bandwidth(
            asked.bandwidth, scratch, lambda launch: reporter.say(bandwidth_progress(launch, launches))
        )
    except KeyboardInterrupt:
        return None
    return MachinePeaks(
        machine=fingerprint(host.describe()),
        measured=utc_now().isoformat(timespec="seconds"),
        command=_command(options),
        irbench_version=version("irbench"),
        run_id=products.run_id,
        compute=products.peaks,
        bandwidth=bandwidth_from(samples, asked.bandwidth.levels),
        samples=samples,
        disturbed_share=products.disturbed_share,
        versions=products.versions,
    )


def keep_whole_peaks(peaks: MachinePeaks, options: DoctorOptions) -> NotKept | None:
    """Keep peaks for this machine in place of those that were known, and return why not where they are no substitute.

    Roofs are those of the whole machine: peaks of one backend or of some processors would have others exceed them, and
    an environment without backends says nothing of what is known.

    Args:
        peaks: What was measured.
        options: How.

    Raises:
        IrbenchError: They cannot be stored.
    """
    reason = "restricted" if options.is_restricted else _missing(peaks, known_peaks())
    if reason is None:
        keep_peaks(bundles.home(), peaks)
    return reason


def _missing(peaks: MachinePeaks, known: MachinePeaks | None) -> NotKept | None:
    if known is None:
        return None
    if known.compute and not peaks.compute:
        return "no-products"
    if known.bandwidth and not peaks.bandwidth:
        return "no-bandwidth"
    return None if set(known.threads) <= set(peaks.threads) else "fewer-cores"


@dataclass(frozen=True)
class _Measured:
    """The peaks of matrix products, the run that holds their samples if there is one, and what it was like."""

    peaks: tuple[ComputePeak, ...] = ()
    run_id: str | None = None
    disturbed_share: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict[str, str])


class _Products:
    """The runs of matrix products: every size and backend once, then the fastest of each precision as runs are."""

    def __init__(
        self, asked: PeakPlan, options: DoctorOptions, scratch: Path, lock: MeasurementLock, reporter: Reporter
    ) -> None:
        self._asked = asked
        self._options = options
        self._scratch = scratch
        self._lock = lock
        self._reporter = reporter

    def measured(self) -> _Measured | None:
        """Return the peaks; ``None`` where the measurement was interrupted."""
        if not self._asked.backends:
            return _Measured()
        self._reporter.say(products_progress(chosen=False))
        request = self._request()
        groups = self._groups(request)
        if not groups:
            return _Measured()
        search = self._run(replace(request, timing=_ONCE, is_part_of=SEARCH_RUN), groups)
        if search.is_interrupted:
            return None
        fastest = fastest_rows(search.document, read_launches(search.folder, search.document), self._asked.chains)
        if not fastest:
            return _Measured((), search.document.run_id)
        chosen = [with_rows(group, fastest.get(_model(group), frozenset())) for group in groups]
        self._reporter.say(products_progress(chosen=True))
        run = self._run(request, [group for group in chosen if group.group.cells])
        if run.is_interrupted:
            return None
        found = run.document
        peaks = matrix_peaks(found, read_launches(run.folder, found), self._asked.chains)
        return _Measured(peaks, found.run_id, disturbed_share(found), runtime_versions(search.document))

    def _request(self) -> RunRequest:
        files = (write_matrix_chain(chain, self._scratch) for chain in self._asked.chains)
        return RunRequest(
            bundles=tuple(map(from_onnx_file, files)),
            backends=self._asked.backends,
            precisions=_PRECISIONS,
            threads=self._asked.threads,
            cpus=self._options.cpus,
            io="bound",
            apart=True,
            timing=self._asked.timing,
            is_part_of="peak",
        )

    def _groups(self, request: RunRequest) -> list[PlannedGroup]:
        """Return the tables with the rows that may be possible: quantised graphs in int8, and others in floats."""
        quantised = {chain.name: chain.quantised for chain in self._asked.chains}
        groups = without_refused_rows(plan(request, prepare(request, self._scratch)), lambda _line: None)
        kept = [with_rows(group, _fitting(group, quantised=quantised[_model(group)])) for group in groups]
        return [group for group in kept if group.can_run]

    def _run(self, request: RunRequest, groups: Sequence[PlannedGroup]) -> StoredRun:
        place = RunDestination(self._options.results)
        return measure_planned(request, groups, self._scratch, place, self._lock, self._reporter)


def _command(options: DoctorOptions) -> str:
    backend = [] if options.backend is None else ["--backend", options.backend]
    cpus = [] if options.cpus is None else ["--cpus", cpu_list(options.cpus)]
    return " ".join((_COMMAND, *backend, *cpus))


def _fitting(group: PlannedGroup, *, quantised: bool) -> frozenset[str]:
    return frozenset(cell.id for cell in group.measured if (cell.load.precision == "int8") == quantised)


def _model(group: PlannedGroup) -> str:
    return group.group.workloads[0].bundle.name


def _backends(asked: str | None) -> tuple[BackendAddress, ...]:
    if asked is not None:
        (address,) = resolve_backends([asked])
        if not _reads_onnx(address.name):
            raise IrbenchError(
                f"{address.name} does not read ONNX, which the matrix products are.",
                hint=f"Choose one of: {', '.join(filter(_reads_onnx, registry.installed_backends())) or 'none'}.",
            )
        return (address,)
    return tuple(map(BackendAddress, filter(_reads_onnx, registry.installed_backends())))


def _reads_onnx(backend: str) -> bool:
    return _READS in registry.backend(backend).consumes
