"""The doctor's report for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.core.quantities import NOT_MEASURED, age, binary_size, gigabytes, listing, percent, plural, significant
from irbench.core.row import Speedup
from irbench.features.doctor.findings import Finding, findings_summary
from irbench.features.doctor.gpus import GpuFacts, GpuState
from irbench.features.doctor.machine import CounterFacts, Machine, MachineActivity
from irbench.features.doctor.report import GOAL_NS, NotKept, PeakReport, Report, quartiles_ns
from irbench.features.doctor.self_comparison import FOUND, SelfComparison
from irbench.measure.bandwidth import ACCESSES
from irbench.measure.overhead import Overhead
from irbench.options.values import cpu_list
from irbench.perf_events.obstacles import not_counted
from irbench.render.figure_texts import ratio_with_ends
from irbench.render.line_wrapping import wrap
from irbench.render.speed_table import GroupView
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.roofline import (
    MEMORY,
    MOST_DISTURBED,
    Bandwidth,
    MachinePeaks,
    best_bandwidth,
    ridge_point,
    slower_together,
)
from irbench.system.confinement import SCOPES_SINCE, ConfinementSupport

_WIDTH = 100
"""How wide sentences are where nothing sets a limit."""
_LABEL = 14
_UNKNOWN = "unknown"
_NOT_KEPT_TEXTS: Mapping[NotKept, str] = {
    "restricted": "roofs are those of the whole machine, and --backend and --cpus measure a part of it",
    "disturbed": "they are those of a busy machine",
    "slower-together": "several cores cannot attain less than one, so other programs used them",
    "no-products": "it has no matrix products, which the peaks that are known have",
    "no-bandwidth": "it has no bandwidth, which the peaks that are known have",
    "fewer-cores": "this process may use fewer cores than the peaks that are known were measured with",
}


@dataclass(frozen=True)
class ReportView:
    """Everything a person sees of a report, in as much width as there is."""

    report: Report
    backends: RenderableType

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that reads well and shows every column; called by rich."""
        parts = [self.backends]
        if self.report.self_comparison is not None:
            parts.append(GroupView(self.report.self_comparison.table))
        widest = max(Measurement.get(console, options, part).maximum for part in parts)
        width = min(options.max_width, max(_WIDTH, widest + 1))
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts; called by rich."""
        report, width = self.report, options.max_width
        yield Text("Machine", style="bold")
        yield from _entries(_machine(report.facts.machine, report.facts.clock_ns), width)
        yield from _entries(_gpus(report.facts.gpus), width)
        yield from _entries(_counters(report.facts.counters), width)
        yield Text("\nCurrent activity", style="bold")
        yield from _entries(_here_and_now(report.facts.activity, report.overhead), width)
        yield Text("\nBackends", style="bold")
        yield Padding(self.backends, (0, 0, 0, 1), expand=False)
        if report.peak is not None:
            yield Text("\nAttainable peak", style="bold")
            yield from _peak(report.peak, width)
        if report.findings:
            yield Text("\nFindings", style="bold")
        for number, finding in enumerate(report.findings, start=1):
            yield from _finding(number, finding, width, compared=report.self_comparison is not None)
        if report.self_comparison is not None:
            yield Text("\nA backend against itself", style="bold")
            yield GroupView(report.self_comparison.table)
            yield Text("")
            yield from _paragraph(
                self_comparison_message(report.self_comparison),
                width,
                "green" if report.self_comparison.outcome == "passed" else "yellow",
            )
        yield Text("")
        yield from _paragraph(findings_summary(report.findings), width, "bold")


def _peak(report: PeakReport, width: int) -> Iterator[RenderableType]:
    for line in wrap(peaks_message(report), width - 1):
        yield Text(f" {line}")
    if report.peaks is None:
        return
    for table in (compute_table(report.peaks), bandwidth_table(report.peaks)):
        if table.rows:
            yield Text("")
            yield Padding(ListingTable(table), (0, 0, 0, 1), expand=False)


def _machine(machine: Machine, clock_ns: float) -> Iterator[tuple[str, str]]:
    yield "processor", ", ".join(filter(None, (machine.processor, machine.architecture, _topology(machine))))
    yield "instructions", " ".join(machine.instructions) or _UNKNOWN
    caches = [f"{cache.name} {cache.count} x {binary_size(cache.size_bytes)}" for cache in machine.caches]
    yield "caches", ", ".join(caches) or _UNKNOWN
    yield "memory", ", ".join(_memory(machine))
    yield "available", _allowance(machine)
    turbo = {True: "turbo on", False: "turbo off", None: f"turbo {_UNKNOWN}"}[machine.turbo]
    yield "frequency", f"governor {listing(machine.governors) if machine.governors else _UNKNOWN}, {turbo}"
    yield "clock", f"{machine.clock_source or _UNKNOWN}, {clock_ns:.0f} ns between two readings"
    container = machine.container and f"a container ({machine.container})"
    virtual = machine.hypervisor and f"a virtual machine ({machine.hypervisor})"
    yield "runs in", " on ".join(filter(None, (container, virtual))) or "no container, no virtual machine"
    yield "system", f"Linux {machine.kernel}, {machine.distribution}, Python {machine.python}"
    yield "confinement", _confinement(machine.confinement)


def _confinement(support: ConfinementSupport) -> str:
    files = f"Landlock {support.landlock}" if support.landlock else "no Landlock here"
    calls = "seccomp" if support.seccomp else "no seccomp here"
    readers = f"{files}, {calls}, for processes that read model files"
    if not (support.landlock and support.seccomp):
        return readers
    reach = "" if support.landlock >= SCOPES_SINCE else "; signals to other processes stay open before Landlock 6"
    runs = "for those that run them (as root, set it for models that you do not trust)"
    return f"{readers}, and with IRBENCH_CONFINE=1 {runs}{reach}"


def _gpus(facts: GpuFacts) -> Iterator[tuple[str, str]]:
    if facts.driver is None:
        return
    cuda = "" if facts.cuda is None else f", for CUDA up to {facts.cuda}"
    visible = "" if facts.visible is None else f", CUDA_VISIBLE_DEVICES={plain(facts.visible)}"
    yield "GPU driver", f"NVIDIA {facts.driver or _UNKNOWN}{cuda}, MPS {_on(facts.shared)}{visible}"
    for gpu in facts.gpus:
        yield f"GPU {gpu.number}", ", ".join(_gpu(gpu))


def _gpu(gpu: GpuState) -> Iterator[str]:
    yield plain(gpu.name)
    yield f"compute capability {gpu.capability or _UNKNOWN}"
    free, total = (_UNKNOWN if size is None else gigabytes(size) for size in (gpu.free_bytes, gpu.memory_bytes))
    yield f"{free} of {total} GB free"
    clock, most = (_UNKNOWN if clock is None else f"{clock:,}" for clock in (gpu.sm_mhz, gpu.most_mhz))
    yield f"clock {clock} of {most} MHz"
    if gpu.limits:
        yield f"limited by {listing([limit.replace('-', ' ') for limit in gpu.limits])}"
    yield f"ECC {_on(gpu.ecc)}"
    yield f"MIG {_on(gpu.is_divided)}"
    yield f"persistence {_on(gpu.persistence)}"
    yield f"compute mode {(gpu.compute_mode or _UNKNOWN).replace('-', ' ')}"
    if not gpu.is_for_rows:
        yield "not used by rows"


def _on(state: bool | None) -> str:
    return _UNKNOWN if state is None else "on" if state else "off"


def _counters(counters: CounterFacts | None) -> Iterator[tuple[str, str]]:
    if counters is None:
        return
    program = "no perf" if counters.version is None else f"perf {counters.version}"
    available = f"{listing(counters.available)} available" if counters.available else "none available"
    lacking = not_counted(tuple(counters.lacking), counters.lacking)
    others = "".join(f"; {names} not available: {obstacle.why()}" for names, obstacle in lacking)
    yield "counters", f"{program}: {available}{others}"


def _topology(machine: Machine) -> str:
    if machine.sockets is None or machine.cores_per_socket is None:
        return plural(len(machine.processors), "processor")
    each = f"{plural(machine.sockets, 'socket')} x {plural(machine.cores_per_socket, 'core')}"
    if machine.threads_per_core is None:
        return each
    return f"{each} x {plural(machine.threads_per_core, 'thread')}{' (SMT)' * (machine.threads_per_core > 1)}"


def _memory(machine: Machine) -> Iterator[str]:
    yield f"{gigabytes(machine.memory_bytes)} GB"
    yield f"{gigabytes(machine.available_memory_bytes)} GB available"
    if machine.numa_nodes is not None:
        yield plural(machine.numa_nodes, "NUMA node")
    yield f"swap used {gigabytes(machine.swap_used_bytes)} GB" if machine.swap_used_bytes else "no swap used"
    yield f"transparent huge pages {machine.huge_pages or _UNKNOWN}"


def _allowance(machine: Machine) -> str:
    quota = "no quota" if machine.quota is None else f"a quota of {machine.quota:g} processors"
    processors = f"{'processor' if len(machine.cpus) == 1 else 'processors'} {cpu_list(machine.cpus)}"
    cores = plural(len(machine.cpu_per_core), "core")
    return f"{processors} on {cores}, {quota}: {plural(machine.threads, 'thread')} by default"


def _here_and_now(activity: MachineActivity, overhead: Overhead) -> Iterator[tuple[str, str]]:
    pressure = _UNKNOWN if activity.pressure is None else percent(activity.pressure, 0)
    others = f"{percent(activity.foreign_share, 0)} of a processor in {activity.seconds:.1f} s"
    load = f"load average {activity.load_average:.2f}, pressure {pressure}"
    yield "others", f"{others}, {load}, stolen {percent(activity.stolen_share, 0)}"
    yield "core to core", _link(activity)
    cost, (low_ns, high_ns) = overhead.cost, quartiles_ns(overhead.cost)
    goal = f"goal {GOAL_NS:.0f} ns: {'met' if cost.median_ns <= GOAL_NS else 'missed'}"
    bare = f"more than a bare loop of {overhead.bare.median_ns:.0f} ns, {len(cost.values_ns)} repeats"
    yield "timed call", f"{cost.median_ns:.0f} ns [{low_ns:.0f}, {high_ns:.0f}] {bare}; {goal}"


def _link(activity: MachineActivity) -> str:
    link, unanswered = activity.core_to_core, activity.unanswered_looks
    if link is None:
        why = f"no measurement of {unanswered} succeeded" if unanswered else "it needs two processors"
        return f"not measured: {why}"
    low_ns, high_ns = min(link.samples_ns), max(link.samples_ns)
    looks = plural(len(link.samples_ns), "measurement") + (f", {unanswered} more failed" if unanswered else "")
    regimes = [f"{latency_ns:.0f} ns" for latency_ns in link.regimes_ns]
    change = f"changed between {listing(regimes)}" if regimes else "too few to see changes"
    if len(regimes) == 1:
        change = f"stable for {activity.seconds:.1f} s"
    return f"{link.median_ns:.0f} ns [{low_ns:.0f}, {high_ns:.0f}] in {looks}; {change}"


def _entries(pairs: Iterable[tuple[str, str]], width: int) -> Iterator[Text]:
    for label, value in pairs:
        for number, line in enumerate(wrap(value, max(20, width - _LABEL - 1))):
            yield Text.assemble(" ", (("" if number else label).ljust(_LABEL), "dim"), line)


def _finding(number: int, finding: Finding, width: int, *, compared: bool) -> Iterator[Text]:
    words = finding.words_after_comparison() if compared else finding.words()
    head = f" {number}  "
    room = width - len(head)
    for position, line in enumerate(wrap(words.found, room)):
        yield Text((" " * len(head) if position else head) + line, style="" if finding.lasting else "yellow")
    for line in wrap(f"{words.effect} {words.remedy}", room):
        yield Text(" " * len(head) + line)
    if words.command is not None:
        # a command is copied whole: folding it would break it
        command = " " * (len(head) + 2) + plain(words.command)
        yield Text(command, style="cyan", no_wrap=True, overflow="ignore")


def _paragraph(text: str, width: int, style: str) -> Iterator[Text]:
    for line in wrap(text, width):
        yield Text(line, style=style)


def self_comparison_message(compared: SelfComparison) -> str:
    """Return what it means, what to do about it, and how small a difference such a run finds."""
    smallest = compared.smallest_difference
    if smallest is None:
        return _outcome(compared)
    return (
        f"{_outcome(compared)} In a run of this length ({plural(compared.table.launches, 'launch')}) a true difference"
        f" of about {100 * smallest:.2g} % is detected in {percent(FOUND, 0)} of the runs, and a smaller one in fewer."
    )


def _outcome(compared: SelfComparison) -> str:
    speedup, launches, backend = compared.speedup, compared.table.launches, compared.table.cells[0].backend
    if compared.outcome == "interrupted":
        return f"Interrupted after {plural(launches, 'launch')}: there is no result."
    if speedup is None:
        return f"Failed: {backend} does not have two valid results to compare; its row says why."
    if speedup.verdict == "preview":
        needed = plural(compared.timing.min_launches, "required launch")
        return f"Undecided: only {launches} of the {needed} fit into the budget. Allow more time with --budget."
    if compared.outcome == "busy":
        share = f"{compared.table.blocks_disturbed} of {plural(compared.table.blocks_measured, 'block')}"
        return (
            f"Undecided: other programs disturbed {share}, so this run says nothing about {backend} or this machine."
            " Close other programs (top lists them), and repeat the run."
        )
    return _decided(compared, speedup)


def _decided(compared: SelfComparison, speedup: Speedup) -> str:
    value, ends = ratio_with_ends(speedup.value, speedup.ends)
    itself = f"{compared.table.cells[0].backend} against itself is {value}x{ends}"
    band = f"±{100 * compared.timing.within:g} %"
    if compared.outcome == "failed":
        return (
            f"Failed: {itself}, so a difference was found where there is none. That happens by chance in one run of"
            " twenty: repeat it. If it fails again, fix what disturbs the machine, and do not trust differences of this"
            " size here until it passes."
        )
    if compared.outcome == "undecided":
        return (
            f"Undecided: {itself}, which neither lies within {band} nor excludes 1. Fix what disturbs the machine, or"
            " allow more time with --budget."
        )
    if not speedup.excludes_one:
        return f"Passed: {itself}, within {band}."
    difference = percent(abs(speedup.value - 1))
    return f"Passed: {itself}: it differs from itself by {difference}, inside the {band} that counts as the same."


def peaks_message(report: PeakReport) -> str:
    """Return what is attained, what limits computations, and when that was measured."""
    peaks = report.peaks
    if peaks is None:
        return "Interrupted: no peak is known of this machine yet."
    return " ".join((*_compute_sentences(peaks), *_memory_sentences(peaks), *_doubt(peaks), *_age(peaks, report)))


def compute_table(peaks: MachinePeaks) -> TextTable:
    """Return the peaks of matrix products, a row for each precision and number of cores."""
    confidences = {peak.confidence for peak in peaks.compute}
    columns = (
        TableColumn("precision", words=True),
        TableColumn("cores"),
        TableColumn(f"GFLOP/s {'[range]' if None in confidences else '[95 %]'}"),
        TableColumn("backend", words=True),
        TableColumn("matrices", words=True, drops=1),
        TableColumn("launches", drops=2),
    )
    rows = []
    for peak in peaks.compute:
        rate = _interval(peak.gflop_per_s, peak.low, peak.high)
        sizes = (f"{peak.side} x {peak.side}", str(peak.launches))
        rows.append(Row((peak.precision, str(peak.threads), rate, peak.backend, *sizes)))
    return TextTable(columns, tuple(rows))


def bandwidth_table(peaks: MachinePeaks) -> TextTable:
    """Return the bandwidth of each level, a row for each level and number of cores."""
    headings = [TableColumn(f"{access} GB/s", drops=2 if access == "copy" else 0) for access in ACCESSES]
    columns = (TableColumn("level", words=True), TableColumn("cores"), TableColumn("working set", drops=1), *headings)
    places = dict.fromkeys((bandwidth.level, bandwidth.threads) for bandwidth in peaks.bandwidth)
    return TextTable(columns, tuple(_level_row(peaks, level, threads) for level, threads in places))


def _compute_sentences(peaks: MachinePeaks) -> Iterator[str]:
    if not peaks.compute:
        yield "No peak of matrix products is known: no installed backend that reads ONNX gave right answers."
    for threads in dict.fromkeys(peak.threads for peak in peaks.compute):
        of_threads = [peak for peak in peaks.compute if peak.threads == threads]
        attained = listing(
            f"{_rate(peak.gflop_per_s, peak.low, peak.high)} {'GFLOP/s ' * (place == 0)}"
            f"in {peak.precision} ({peak.backend})"
            for place, peak in enumerate(of_threads)
        )
        cores = "One core attains" if threads == 1 else f"{threads} cores attain"
        yield f"{cores} at most {attained}."


def _memory_sentences(peaks: MachinePeaks) -> Iterator[str]:
    rates = [(threads, best) for threads in peaks.threads if (best := best_bandwidth(peaks, threads)) is not None]
    if not rates:
        return
    each = listing(
        f"{_rate(best.gb_per_s, best.low, best.high)} {'GB/s ' * (place == 0)}for {plural(threads, 'core')}"
        for place, (threads, best) in enumerate(rates)
    )
    yield f"Main memory moves {each}."
    threads = rates[-1][0]
    ridges = [(peak.precision, ridge_point(peaks, peak.precision, threads)) for peak in peaks.compute]
    known = [f"{ridge:.0f} in {precision}" for precision, ridge in dict(ridges).items() if ridge is not None]
    if known:
        yield (
            f"With {plural(threads, 'core')} and data from main memory, arithmetic is the limit only from so many"
            f" operations per byte on: {listing(known)}."
        )


def _doubt(peaks: MachinePeaks) -> Iterator[str]:
    if peaks.disturbed_share is not None and peaks.disturbed_share > MOST_DISTURBED:
        yield (
            f"Other programs disturbed {percent(peaks.disturbed_share, 0)} of the measurement, so the machine attains"
            " more when it is idle: measure again then."
        )
    slower = next(slower_together(peaks), None)
    if slower is not None:
        what = f"{slower.access} of {slower.level}" if isinstance(slower, Bandwidth) else slower.precision
        yield f"{slower.threads} cores attained less than one in {what}."


def _age(peaks: MachinePeaks, report: PeakReport) -> Iterator[str]:
    if report.outcome == "measured":
        if report.not_kept is None:
            yield "Measured now, and kept for this machine."
        else:
            yield f"Measured now by {peaks.command}, and not kept: {_NOT_KEPT_TEXTS[report.not_kept]}."
        return
    ago = age(peaks.measured, report.now)
    if report.outcome == "interrupted":
        yield "Interrupted: these are the peaks that were known before."
    yield f"Measured {'just now' if ago == 'now' else f'{ago} ago'}; {peaks.command} measures them again."


def _level_row(peaks: MachinePeaks, level: str, threads: int) -> Row:
    bandwidths = [peaks.bandwidth_of(level, threads, access) for access in ACCESSES]
    size_bytes = next((each.working_set_bytes for each in bandwidths if each is not None), 0)
    step = 1 << (20 if size_bytes >= 10 << 20 else 10)  # whole KiB, or whole MiB from ten of them on
    rates = (NOT_MEASURED if each is None else _interval(each.gb_per_s, each.low, each.high) for each in bandwidths)
    name = "main memory" if level == MEMORY else level
    return Row((name, str(threads), binary_size(size_bytes // step * step), *rates))


def _interval(value: float, low: float, high: float) -> str:
    decimals = len(_rate(value, low, high).partition(".")[2])
    return f"{value:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def _rate(value: float, low: float, high: float) -> str:
    return significant(value, max((high - low) / 2 / value, 1e-3))
