"""Measure what this machine can attain at most: matrix products through backends, and bandwidths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from irbench import __version__
from irbench.across_runs.differences import fingerprint
from irbench.api.progress import Reporter
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.record import LaunchRecord
from irbench.core.result import SEARCH_RUN, RunDocument
from irbench.core.row import CellResult
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.features.doctor.machine import Machine
from irbench.features.doctor.matrix_chain import MatrixChain, write_matrix_chain
from irbench.features.doctor.memory_hierarchy import BandwidthPlan, bandwidth_from, bandwidth_plan, measure_bandwidth
from irbench.features.doctor.options import DOCTOR, DoctorOptions
from irbench.features.doctor.report import NotKept
from irbench.measure.clock import Stopwatch, utc_now
from irbench.measure.lock import MeasurementLock
from irbench.options.option import command_words
from irbench.options.run import RunOptions
from irbench.requests.known_refusals import without_refused_rows
from irbench.requests.resolve import resolve_backends
from irbench.requests.run_requests import allowed_cpus
from irbench.roofline import MOST_DISTURBED, ComputePeak, MachinePeaks, are_sound, slower_together
from irbench.runner.launch_schedule import UnforeseenEnd
from irbench.runner.plan import PlannedGroup, plan, with_rows
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun, measure_planned
from irbench.runs.run_destination import RunDestination
from irbench.runs.work import known_peaks
from irbench.spec import Group, Precision, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.intervals import FEWEST_LAUNCHES, Interval, Looks, interval_at
from irbench.stats.stopping_rule import Next, Pace, next_launch
from irbench.store import bundles
from irbench.store.kept_peaks import keep_peaks
from irbench.store.runs import read_launches
from irbench.system import host

_COMMAND = "irbench doctor --peak"
_PROGRESS_TEXTS = {
    "choice": "looking for the fastest matrix products: every size and backend, one launch each, at most about"
    " {minutes} minutes with all that follows ...",
    "products": "measuring the fastest matrix products of each precision ...",
    "bandwidth": "measuring the bandwidth of caches and memory, launch {launch} of {launches} ...",
}
"""What is told while peaks are measured."""
_READS = "onnx"
_PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp16", "int8")
_ONCE = Timing(look_calls=0, min_launches=1, max_launches=1, blocks=3, max_blocks=4, min_blocks=3, most_blocks=4)
"""Which size and backend is the fastest shows in a launch; nothing but the choice is taken from it."""
_PRECISE = Timing(
    min_launches=FEWEST_LAUNCHES, max_launches=FEWEST_LAUNCHES, blocks=4, max_blocks=6, budget=600.0, sized_for=90.0
)
_SEARCH_S, _PRODUCTS_S = 180.0, 240.0
"""No launch begins after so long, of either run; the first sizes are those that are the fastest most often."""
_BANDWIDTH_S = 60.0
"""What six launches of all levels take at most, even beside other programs."""
_CONFIDENCE = 0.95
_SIDES = (1024, 512, 2048, 256)
"""Three float32 matrices take 12, 3, 48 and 0.75 MiB: what second- and third-level caches hold."""
_SIDES_OF_MANY = (2048, 1024, 4096, 512)
_MANY_THREADS = 8
_OPERATIONS = 1 << 31
"""Of an inference at least; some ten milliseconds of a core."""
_FEWEST_PRODUCTS, _MOST_PRODUCTS = 2, 64
_ORDER: Mapping[str, int] = {"fp32": 0, "bf16": 1, "fp16": 2, "int8": 3}


@dataclass(frozen=True)
class PeakPlan:
    """Which matrix products and working sets are measured; no backends where no installed one reads ONNX."""

    chains: tuple[MatrixChain, ...]
    backends: tuple[BackendAddress, ...]
    threads: tuple[int, ...]
    bandwidth: BandwidthPlan
    timing: Timing = _PRECISE


def peak_plan(options: DoctorOptions, machine: Machine) -> PeakPlan:
    """Return which products and bandwidths are measured with these options."""
    allowed = host.allowance(allowed_cpus(options.cpus))
    cpus = host.one_per_core(allowed.cpus)[: allowed.threads]
    return PeakPlan(
        chains=matrix_chains(len(cpus)),
        backends=_backends(options.backend),
        threads=tuple(dict.fromkeys((1, len(cpus)))),
        bandwidth=bandwidth_plan(machine, cpus),
    )


def measure_peaks(
    planned: PeakPlan, options: DoctorOptions, scratch: Path, lock: MeasurementLock, reporter: Reporter
) -> MachinePeaks | None:
    """Measure what was planned; return ``None`` where that was interrupted."""
    products = _ProductRuns(planned, options, scratch, lock, reporter).measured()
    if products is None:
        return None
    tell = partial(_PROGRESS_TEXTS["bandwidth"].format, launches=planned.bandwidth.launches)
    try:
        samples = measure_bandwidth(planned.bandwidth, scratch, lambda launch: reporter.say(tell(launch=launch)))
    except KeyboardInterrupt:
        return None
    return MachinePeaks(
        machine=fingerprint(host.describe()),
        measured=utc_now().isoformat(timespec="seconds"),
        command=_command(options),
        irbench_version=__version__,
        run_id=products.run_id,
        compute=products.peaks,
        bandwidth=bandwidth_from(samples, planned.bandwidth.levels),
        samples=samples,
        disturbed_share=products.disturbed_share,
        versions=products.versions,
    )


def keep_whole_peaks(peaks: MachinePeaks, options: DoctorOptions) -> NotKept | None:
    """Keep peaks for this machine in place of those that were known, and return why not where they cannot replace them.

    Roofs are those of the whole machine: peaks of one backend or of some processors would have others exceed them, and
    an environment without backends says nothing of what is known. Nor do peaks beside other programs.
    """
    reason = "restricted" if options.is_restricted else _disturbed(peaks) or _missing(peaks, known_peaks())
    if reason is None:
        keep_peaks(bundles.home(), peaks)
    return reason


def _disturbed(peaks: MachinePeaks) -> NotKept | None:
    if are_sound(peaks):
        return None
    return "slower-together" if any(slower_together(peaks)) else "disturbed"


def _missing(peaks: MachinePeaks, known: MachinePeaks | None) -> NotKept | None:
    if known is None:
        return None
    if known.compute and not peaks.compute:
        return "no-products"
    if known.bandwidth and not peaks.bandwidth:
        return "no-bandwidth"
    return None if set(known.threads) <= set(peaks.threads) else "fewer-cores"


@dataclass(frozen=True)
class _ProductPeaks:
    """The peaks of matrix products, the run that holds their samples if there is one, and what it was like."""

    peaks: tuple[ComputePeak, ...] = ()
    run_id: str | None = None
    disturbed_share: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class _ProductRuns:
    """The runs of matrix products: every size and backend once, then the fastest of each precision as runs are."""

    plan: PeakPlan
    options: DoctorOptions
    scratch: Path
    lock: MeasurementLock
    reporter: Reporter

    def measured(self) -> _ProductPeaks | None:
        """Return the peaks; ``None`` where the measurement was interrupted."""
        if not self.plan.backends:
            return _ProductPeaks()
        minutes = math.ceil((_SEARCH_S + _PRODUCTS_S + _BANDWIDTH_S) / 60)
        self.reporter.say(_PROGRESS_TEXTS["choice"].format(minutes=minutes))
        request = self._request()
        groups = self._groups(request)
        if not groups:
            return _ProductPeaks()
        search = self._run(replace(request, timing=_ONCE, is_part_of=SEARCH_RUN), groups, _SEARCH_S)
        if search.is_interrupted:
            return None
        launches = list(read_launches(search.folder, search.document))
        fastest = fastest_rows(search.document, launches, self.plan.chains)
        if not fastest:
            return _ProductPeaks((), search.document.run_id)
        share, versions = disturbed_share(search.document), runtime_versions(search.document)
        if (share or 0) > MOST_DISTURBED:  # more launches beside other programs would not be kept either
            peaks = matrix_peaks(search.document, launches, self.plan.chains)
            return _ProductPeaks(peaks, search.document.run_id, share, versions)
        chosen = [with_rows(group, fastest.get(_model(group), frozenset())) for group in groups]
        self.reporter.say(_PROGRESS_TEXTS["products"])
        run = self._run(request, [group for group in chosen if group.group.cells], _PRODUCTS_S)
        if run.is_interrupted:
            return None
        document = run.document
        peaks = matrix_peaks(document, read_launches(run.folder, document), self.plan.chains)
        return _ProductPeaks(peaks, document.run_id, disturbed_share(document), versions)

    def _request(self) -> RunRequest:
        files = (write_matrix_chain(chain, self.scratch) for chain in self.plan.chains)
        return RunRequest(
            bundles=tuple(map(from_onnx_file, files)),
            backends=self.plan.backends,
            precisions=_PRECISIONS,
            threads=self.plan.threads,
            asked=RunOptions(cpus=self.options.cpus, io="bound", apart=True),
            is_repeatable=False,
            timing=self.plan.timing,
            is_part_of="peak",
        )

    def _groups(self, request: RunRequest) -> list[PlannedGroup]:
        """Return the tables with the rows that may be possible: quantised graphs in int8, and others in floats."""
        quantised = {chain.name: chain.quantised for chain in self.plan.chains}
        groups = without_refused_rows(plan(request, prepare(request, self.scratch)), lambda _line: None)
        fitting = []
        for group in groups:
            is_int8 = quantised[_model(group)]
            rows = frozenset(cell.id for cell in group.measured if (cell.load.precision == "int8") == is_int8)
            fitting.append(with_rows(group, rows))
        return [group for group in fitting if group.can_run]

    def _run(self, request: RunRequest, groups: Sequence[PlannedGroup], most_s: float) -> StoredRun:
        destination, schedule = RunDestination(self.options.results), WithinTime(most_s)
        request = replace(request, budget_s=most_s)
        return measure_planned(request, groups, self.scratch, destination, self.lock, self.reporter, schedule)


@dataclass(frozen=True)
class WithinTime(UnforeseenEnd):
    """The launches of a run, none of which begins after ``most_s`` of all of its tables together."""

    most_s: float
    watch: Stopwatch = field(default_factory=Stopwatch)
    measures_all: bool = False

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the next launch, or that there is no time for it."""
        if self.watch.elapsed_s >= self.most_s:
            return Next(stopped_by="budget")
        return next_launch(group, records, timing, admission, pace)


def _command(options: DoctorOptions) -> str:
    asked = {name: DOCTOR.options[name] for name in ("backend", "cpus")}
    return " ".join((_COMMAND, *command_words(vars(options), asked)))


def _model(group: PlannedGroup) -> str:
    return group.group.workloads[0].bundle.name


def _backends(name: str | None) -> tuple[BackendAddress, ...]:
    if name is not None:
        (address,) = resolve_backends([name])
        if not _reads_onnx(address.name):
            raise IrbenchError(
                f"{address.name} does not read ONNX, which the matrix products are.",
                hint=f"Choose one of: {', '.join(filter(_reads_onnx, registry.installed_backends())) or 'none'}.",
            )
        return (address,)
    return tuple(map(BackendAddress, filter(_reads_onnx, registry.installed_backends())))


def _reads_onnx(backend: str) -> bool:
    return _READS in registry.backend(backend).consumes


def matrix_chains(threads: int) -> tuple[MatrixChain, ...]:
    """Return the graphs that are measured on a machine with so many threads: several sizes, of floats and of int8.

    Which size is the fastest depends on the caches, the threads and the runtime, so all are tried while there is time.
    """
    sides = _SIDES_OF_MANY if threads > _MANY_THREADS else _SIDES
    return tuple(MatrixChain(side, _products(side), quantised) for side in sides for quantised in (False, True))


@dataclass(frozen=True)
class _MeasuredRow:
    """A row whose outputs are right, what it computed, and the fastest call of each launch in nanoseconds."""

    chain: MatrixChain
    row: CellResult
    fastest_ns: tuple[float, ...]

    @property
    def key(self) -> tuple[str, int]:
        """The precision that it computed in, and its threads."""
        threads = self.row.requested.threads
        assert threads is not None
        return str(self.row.effective.get("precision", self.row.requested.precision)), threads

    @property
    def rate(self) -> Interval:
        """10^9 operations per second, over launches."""
        logs = [math.log(self.chain.operations / call_ns) for call_ns in self.fastest_ns]
        return interval_at(logs, Looks(FEWEST_LAUNCHES, FEWEST_LAUNCHES), _CONFIDENCE)


def fastest_rows(
    document: RunDocument, records: Iterable[LaunchRecord], chains: Iterable[MatrixChain]
) -> dict[str, frozenset[str]]:
    """Return which rows of a run of all sizes and backends are measured again, by the name of their table."""
    tables: dict[str, frozenset[str]] = {}
    for best in _best(document, records, chains):
        tables[best.chain.name] = tables.get(best.chain.name, frozenset()) | {best.row.id}
    return tables


def matrix_peaks(
    document: RunDocument, records: Iterable[LaunchRecord], chains: Iterable[MatrixChain]
) -> tuple[ComputePeak, ...]:
    """Return the peaks that a run of the fastest rows shows, by precision and number of threads."""
    peaks = map(_peak, _best(document, records, chains))
    return tuple(sorted(peaks, key=lambda peak: (_ORDER.get(peak.precision, len(_ORDER)), peak.threads)))


def disturbed_share(document: RunDocument) -> float | None:
    """Return the share of a run's blocks that other programs disturbed; ``None`` without blocks."""
    blocks = sum(table.blocks_measured for table in document.groups)
    return sum(table.blocks_disturbed or 0 for table in document.groups) / blocks if blocks else None


def runtime_versions(document: RunDocument) -> dict[str, str]:
    """Return the version of the runtime of each backend that gave right answers in a run, by the backend's name."""
    rows = (row for table in document.groups for row in table.cells if row.state == "ok")
    return {row.backend: str(row.effective["version"]) for row in rows if row.effective.get("version") is not None}


def _best(
    document: RunDocument, records: Iterable[LaunchRecord], chains: Iterable[MatrixChain]
) -> Iterable[_MeasuredRow]:
    best: dict[tuple[str, int], _MeasuredRow] = {}
    for measured in _measured(document, _fastest_ns(records), chains):
        known = best.get(measured.key)
        if known is None or measured.rate.value > known.rate.value:
            best[measured.key] = measured
    return best.values()


def _measured(
    document: RunDocument, fastest_ns: Mapping[tuple[int, str], Sequence[float]], chains: Iterable[MatrixChain]
) -> Iterator[_MeasuredRow]:
    of_name = {chain.name: chain for chain in chains}
    for number, table in enumerate(document.groups):
        for row in table.cells:
            calls_ns = fastest_ns.get((number, row.id), ())
            if row.state == "ok" and calls_ns and row.requested.threads is not None:
                yield _MeasuredRow(of_name[table.model], row, tuple(calls_ns))


def _fastest_ns(records: Iterable[LaunchRecord]) -> dict[tuple[int, str], list[float]]:
    """Return the fastest call of each launch, in nanoseconds, by the number of the table and the id of the row.

    Others can slow down calls and make none faster, so the fastest one is what the machine attains; STREAM reports the
    best of its trials for the same reason.
    """
    fastest: dict[tuple[int, str], list[float]] = {}
    for record in records:
        for launch in record.cells:
            calls_ns = [int(round_.latency_ns.min()) for round_ in launch.rounds if round_.latency_ns.size]
            if calls_ns:
                fastest.setdefault((record.group, launch.cell), []).append(min(calls_ns) / launch.calls_per_sample)
    return fastest


def _peak(measured: _MeasuredRow) -> ComputePeak:
    precision, threads = measured.key
    rate = measured.rate
    return ComputePeak(
        precision=precision,
        threads=threads,
        gflop_per_s=math.exp(rate.value),
        low=math.exp(rate.low),
        high=math.exp(rate.high),
        backend=measured.row.backend,
        side=measured.chain.side,
        launches=rate.count,
        confidence=rate.confidence,
    )


def _products(side: int) -> int:
    return max(_FEWEST_PRODUCTS, min(_MOST_PRODUCTS, _OPERATIONS // (2 * side**3)))
