"""The doctor's report for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.core.quantities import binary_size, gigabytes, listing, percent, plural
from irbench.counters.obstacles import not_counted
from irbench.features.doctor.facts import Activity, CoreToCore, CounterFacts, Machine
from irbench.features.doctor.findings import Finding, findings_summary
from irbench.features.doctor.peaks_view import bandwidth_table, compute_table, peaks_message
from irbench.features.doctor.report import GOAL_NS, PeakReport, Report, quartiles_ns
from irbench.features.doctor.self_comparison_view import self_comparison_message
from irbench.measure.overhead import Overhead
from irbench.options.values import cpu_list
from irbench.render.group import GroupView
from irbench.render.line_wrapping import wrap
from irbench.render.table import ListingTable
from irbench.system.confinement import ConfinementSupport
from irbench.system.landlock import SCOPES_SINCE

_WIDTH = 100
"""How wide sentences are where nothing sets a limit."""
_LABEL = 14
_UNKNOWN = "unknown"


class ReportView:
    """Everything a person sees of a report, in as much width as there is.

    Args:
        report: What was found.
        backends: The list of backends.
    """

    def __init__(self, report: Report, backends: RenderableType) -> None:
        self._report = report
        self._backends = backends

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that reads well and shows every column; called by rich."""
        parts = [self._backends]
        if self._report.self_comparison is not None:
            parts.append(GroupView(self._report.self_comparison.table))
        widest = max(Measurement.get(console, options, part).maximum for part in parts)
        width = min(options.max_width, max(_WIDTH, widest + 1))
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts; called by rich."""
        report, width = self._report, options.max_width
        yield Text("Machine", style="bold")
        yield from _entries(_machine(report.facts.machine, report.facts.clock_ns), width)
        yield from _entries(_counters(report.facts.counters), width)
        yield Text("\nCurrent activity", style="bold")
        yield from _entries(_here_and_now(report.facts.activity, report.overhead), width)
        yield Text("\nBackends", style="bold")
        yield Padding(self._backends, (0, 0, 0, 1), expand=False)
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
    caches = [
        f"{cache_entry.name} {cache_entry.count} x {binary_size(cache_entry.size_bytes)}"
        for cache_entry in machine.caches
    ]
    yield "caches", ", ".join(caches) or _UNKNOWN
    yield "memory", ", ".join(_memory(machine))
    yield "available", _allowance(machine)
    turbo = {True: "turbo on", False: "turbo off", None: f"turbo {_UNKNOWN}"}[machine.turbo]
    yield "frequency", f"governor {listing(machine.governors) if machine.governors else _UNKNOWN}, {turbo}"
    yield "clock", f"{machine.clock_source or _UNKNOWN}, {clock_ns:.0f} ns between two readings"
    yield "runs in", _surroundings(machine)
    yield "system", f"Linux {machine.kernel}, {machine.distribution}, Python {machine.python}"
    yield "confinement", _confinement(machine.confinement)


def _confinement(found: ConfinementSupport) -> str:
    files = f"Landlock {found.landlock}" if found.landlock else "no Landlock here"
    calls = "seccomp" if found.seccomp else "no seccomp here"
    readers = f"{files}, {calls}, for processes that read model files"
    if not (found.landlock and found.seccomp):
        return readers
    reach = "" if found.landlock >= SCOPES_SINCE else "; signals to other processes stay open before Landlock 6"
    return f"{readers}, and with IRBENCH_CONFINE=1 for those that run them{reach}"


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


def _surroundings(machine: Machine) -> str:
    container = machine.container and f"a container ({machine.container})"
    virtual = machine.hypervisor and f"a virtual machine ({machine.hypervisor})"
    return " on ".join(filter(None, (container, virtual))) or "no container, no virtual machine"


def _here_and_now(activity: Activity, overhead: Overhead) -> Iterator[tuple[str, str]]:
    yield "others", ", ".join(_others(activity))
    yield "core to core", _link(activity)
    yield "timed call", _cost(overhead)


def _others(activity: Activity) -> Iterator[str]:
    yield f"{percent(activity.foreign_share, 0)} of a processor in {activity.seconds:.1f} s"
    yield f"load average {activity.load_average:.2f}"
    yield f"pressure {_UNKNOWN if activity.pressure is None else percent(activity.pressure, 0)}"
    yield f"stolen {percent(activity.stolen_share, 0)}"


def _cost(overhead: Overhead) -> str:
    cost, (low_ns, high_ns) = overhead.cost, quartiles_ns(overhead.cost)
    return (
        f"{cost.median_ns:.0f} ns [{low_ns:.0f}, {high_ns:.0f}] more than a bare loop of"
        f" {overhead.bare.median_ns:.0f} ns,"
        f" {len(cost.values_ns)} repeats; goal {GOAL_NS:.0f} ns: {'met' if cost.median_ns <= GOAL_NS else 'missed'}"
    )


def _link(activity: Activity) -> str:
    link, unanswered = activity.core_to_core, activity.unanswered_looks
    if link is None:
        why = f"no measurement of {unanswered} succeeded" if unanswered else "it needs two processors"
        return f"not measured: {why}"
    low_ns, high_ns = min(link.samples_ns), max(link.samples_ns)
    looks = plural(len(link.samples_ns), "measurement") + (f", {unanswered} more failed" if unanswered else "")
    return f"{link.median_ns:.0f} ns [{low_ns:.0f}, {high_ns:.0f}] in {looks}; {_regimes(link, activity.seconds)}"


def _regimes(link: CoreToCore, seconds: float) -> str:
    regimes = [f"{latency_ns:.0f} ns" for latency_ns in link.regimes_ns]
    if not regimes:
        return "too few to see changes"
    return f"stable for {seconds:.1f} s" if len(regimes) == 1 else f"changed between {listing(regimes)}"


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
