"""What this machine can count: which perf there is, what the kernel offers, and which events perf can open."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irbench.measure.clock import sleep
from irbench.measure.perf_stat import PERF_ENVIRONMENT, CountingFailed, TopLev
from irbench.perf_events.counter_plan import CounterPlan, Counting
from irbench.perf_events.event_names import GROUPS, SOFTWARE_EVENTS, events_asked, toplev_level
from irbench.perf_events.obstacles import (
    Alone,
    NoPerf,
    NoPmu,
    NotCounted,
    NotNamed,
    NoTopdown,
    NoToplev,
    NotPermitted,
    NotSupported,
    Obstacle,
    Said,
    SeveralKindsOfCores,
    ToplevFailed,
    obstacle_from_messages,
)
from irbench.perf_events.perf_output import EventCount, PerfReading, has_kind, is_user_only, matching_names, read_perf
from irbench.perf_events.topdown import (
    Processor,
    TopdownMethod,
    fitting_method,
    metric_group_in,
    shares_named,
    shares_of,
)
from irbench.system.host import cpu_info
from irbench.system.locks import temporary_folder
from irbench.system.programs import clean_environment, find_program, python_process

DEVICES = Path("/sys/bus/event_source/devices")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_CORES = re.compile(r"cpu|cpu_core|cpu_atom|armv\d\w*|apple_\w+")
_VERSION = re.compile(r"perf version (\S+)")
_TIMEOUT_S = 20.0
_TOPLEV = ("toplev", "toplev.py")
_NEVER_COUNTED = NotCounted(Alone(alone=True))
_COUNTED_PROGRAM = "sum(range(2_000_000))"
"""Runs long enough for events that share counters to have their turns."""


@dataclass(frozen=True)
class _Answer:
    code: int
    reading: PerfReading
    said: str


def counting_for(plan: CounterPlan) -> Counting:
    """Return how this machine counts what is asked for; perf counts a short program for that.

    Of what is impossible, the result has the reasons.
    """
    perf = find_program("perf")
    version, said = _version(perf)
    if perf is None or version is None:
        reason = NoPerf(Said(said))
        return Counting(plan, perf or "", "", unavailable=dict.fromkeys(plan.asked, reason))
    processor, paranoid = read_processor(), _paranoid()
    counting = _with_events(Counting(plan, perf, version), processor, paranoid)
    if "topdown" in plan.asked:
        counting = _with_topdown(counting, processor)
    return _with_toplev(counting, processor, paranoid)


def read_processor() -> Processor:
    """Return what the kernel tells of the processor and its counters."""
    reported = cpu_info()
    devices = [device for device in _folders(DEVICES) if _CORES.fullmatch(device.name)]
    events = {event.name for device in devices for event in _folders(device / "events")}
    return Processor(
        vendor=reported.get("vendor_id", ""),
        family=_number(reported.get("cpu family")),
        model=_number(reported.get("model")),
        has_pmu=bool(devices),
        events=frozenset(events),
        is_hybrid=len(devices) > 1,
    )


def _with_events(counting: Counting, processor: Processor, paranoid: int | None) -> Counting:
    events = events_asked(counting.plan.asked)
    openable = _openable(counting.perf, events, processor, paranoid) if events else _Openable({}, {})
    missing = dict(openable.unavailable)
    able = set(openable.events)
    groups = {
        name: missing[GROUPS[name][-1]]
        for name in counting.plan.asked
        if name in GROUPS and name != "topdown" and not able.intersection(GROUPS[name])
    }
    return replace(
        counting,
        events=openable.events,
        perf_names=openable.perf_names,
        user_only=any(_is_narrowed(event, names) for event, names in openable.perf_names.items()),
        unavailable={**groups, **missing},
    )


@dataclass(frozen=True)
class _Openable:
    """Events by what perf calls them, and those that it cannot count."""

    perf_names: Mapping[str, tuple[str, ...]]
    unavailable: Mapping[str, Obstacle]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(self.perf_names)


def _openable(perf: str, events: Sequence[str], processor: Processor, paranoid: int | None) -> _Openable:
    """Return which events perf can count: all at once, and each alone where that gave no count or another name."""
    together = _count(perf, "-e", ",".join(events))
    perf_names: dict[str, tuple[str, ...]] = {}
    missing: dict[str, Obstacle] = {}
    for event in events:
        answer, names = together, matching_names(event, together.reading.events)
        if answer.code != 0 or _is_never_counted(answer.reading.count(names)):
            answer = _count(perf, "-e", event)
            names = _names_alone(event, answer.reading)
        obstacle = _obstacle(event, answer, names, processor, paranoid)
        if obstacle is None:
            perf_names[event] = names
        else:
            missing[event] = obstacle
    return _Openable(perf_names, missing)


def _is_never_counted(count: EventCount) -> bool:
    return count.value is None and count.is_supported


def _names_alone(event: str, reading: PerfReading) -> tuple[str, ...]:
    """Return the names of an event that was counted alone, so that what perf wrote is that event, whatever its name."""
    written = tuple(reading.events)
    return matching_names(event, written) or (written if len(written) == 1 else ())


def _is_narrowed(event: str, names: Iterable[str]) -> bool:
    """Whether perf has left the kernel's part out of an event that it was asked to count as a whole."""
    return not is_user_only(event) and any(map(is_user_only, names))


def _obstacle(
    event: str, answer: _Answer, names: tuple[str, ...], processor: Processor, paranoid: int | None
) -> Obstacle | None:
    """Return why perf cannot count an event; ``None`` where it can.

    One of a kind of core on which the short program did not run has no count there, and may have one in another.
    """
    if answer.code != 0:
        said = obstacle_from_messages(answer.said, paranoid)
        if not isinstance(said, NotSupported):
            return said
    elif not names:
        return NotNamed()
    elif (count := answer.reading.count(names)).is_supported:
        is_elsewhere = processor.is_hybrid and has_kind(event)
        return _NEVER_COUNTED if _is_never_counted(count) and not is_elsewhere else None
    is_of_processor = event not in SOFTWARE_EVENTS
    return NoPmu() if is_of_processor and not processor.has_pmu else NotSupported()


def _with_topdown(counting: Counting, processor: Processor) -> Counting:
    """Return the counting with perf's own formulas where it has them, otherwise with published ones."""
    reason: Obstacle | None = None
    for able in _topdown_ways(counting, processor):
        assert able.topdown is not None
        answer = _count(counting.perf, *replace(able, events=()).arguments)
        if answer.code == 0 and shares_of(answer.reading, able.topdown):
            return able
        if _has_no_counts(answer, able.topdown):
            reason = _NEVER_COUNTED
    reason = reason or _why_no_topdown(counting, processor)
    return replace(counting, unavailable={**counting.unavailable, "topdown": reason})


def _topdown_ways(counting: Counting, processor: Processor) -> Iterator[Counting]:
    listing = _run(counting.perf, "list", "metricgroup")
    group = metric_group_in(listing.stdout) if listing is not None else None
    if group is not None:
        yield replace(counting, topdown="perf", metric_group=group)
    method = fitting_method(processor)
    if method is not None:
        yield replace(counting, topdown=method)


def _has_no_counts(answer: _Answer, method: TopdownMethod) -> bool:
    """Whether perf opened the events of a formula, and never had them on counters.

    It ignores a metric that it does not know without a word.
    """
    opened = answer.code == 0 and all(count.is_supported for count in answer.reading.events.values())
    return opened and (method != "perf" or bool(shares_named(answer.reading)))


def _why_no_topdown(counting: Counting, processor: Processor) -> Obstacle:
    """Return the reason that the processor's cycles cannot be counted, where that is why."""
    return counting.unavailable.get("cycles") or (NoTopdown() if processor.has_pmu else NoPmu())


def _with_toplev(counting: Counting, processor: Processor, paranoid: int | None) -> Counting:
    names = [name for name in counting.plan.asked if toplev_level(name) is not None]
    if not names:
        return counting
    level = max(toplev_level(name) or 0 for name in names)
    program = next(filter(None, map(find_program, _TOPLEV)), None)
    if not processor.has_pmu:
        reason: Obstacle | None = NoPmu()
    elif processor.is_hybrid:
        reason = SeveralKindsOfCores()
    elif program is None:
        reason = NoToplev()
    else:
        reason = toplev_obstacle(program, level, paranoid)
    if reason is not None:
        return replace(counting, unavailable={**counting.unavailable, **dict.fromkeys(names, reason)})
    return replace(counting, toplev=program, level=level)


def _count(perf: str, *what: str) -> _Answer:
    program, _ = python_process("-c", _COUNTED_PROGRAM, isolated=True)
    done = _run(perf, "stat", "-j", *what, "--", *program)
    if done is None:
        return _Answer(1, PerfReading(), "")
    return _Answer(done.returncode, read_perf(done.stderr), _messages(done.stderr))


def _messages(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("{"))


def _version(perf: str | None) -> tuple[str | None, str]:
    """Return perf's version, or what it said instead: distributions have a script that looks for the real one."""
    done = None if perf is None else _run(perf, "--version")
    match = None if done is None else _VERSION.search(done.stdout)
    said = "" if done is None else next(filter(None, map(str.strip, done.stderr.splitlines())), "")
    return (match[1], "") if match else (None, said)


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            env={**clean_environment(), **PERF_ENVIRONMENT},
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _paranoid() -> int | None:
    try:
        return int(_PARANOID.read_text())
    except (OSError, ValueError):
        return None


def _folders(folder: Path) -> Iterable[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return ()


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


_COUNTED_S = 0.3
"""Enough for each of its groups of events to have its turn on the counters."""
_BUSY_PROGRAM = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass\n"
"""Computes until it is killed, or until who started it is gone."""


def toplev_obstacle(program: str, level: int, paranoid: int | None) -> Obstacle | None:
    """Return why toplev tells no nodes of a level here; ``None`` where it does."""
    command, environment = python_process("-c", _BUSY_PROGRAM, isolated=True)
    with (
        temporary_folder(Path(tempfile.gettempdir()), "irbench-toplev-") as folder,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C reaches irbench alone
            env=environment,
        ) as busy,
    ):
        try:
            with TopLev(program, level, busy.pid, folder / "toplev") as toplev:
                sleep(_COUNTED_S)
                toplev.nodes()
        except CountingFailed as failed:
            return _toplev_failure(failed, paranoid)
        finally:
            busy.kill()
    return None


def _toplev_failure(failed: CountingFailed, paranoid: int | None) -> Obstacle:
    said = obstacle_from_messages(failed.messages, paranoid)
    return said if isinstance(said, NotPermitted) else ToplevFailed(Said(str(failed)))
