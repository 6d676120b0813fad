"""Observe the machine for a moment: other programs, and the distance of its processors."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path

import psutil

from irbench.features.doctor.facts import Activity, CoreToCore, Program
from irbench.measure.clock import Stopwatch, sleep
from irbench.measure.disturbances import MachineSnapshot, cpu_pressure, foreign_cpu_ns, snapshot
from irbench.measure.hardware_probes import CoreLink
from irbench.system.host import read_text

LOOK_S = 1.5
_BETWEEN_LOOKS_S = 0.05
_NAMED = 4
"""Programs that are named, at most."""
_WORDS_OF_PROGRAM = 5
"""Of a command line: an interpreter, its flags, and the module."""
_WORTH_NAMING = 0.01
_INTERPRETER = re.compile(r"(python|pypy|node|ruby|perl|java|bash|sh)[0-9.]*")
_COMMAND = 40
"""Characters of a command line that are shown."""


def watch(cpus: Sequence[int]) -> Activity:
    """Return what goes on for a second and a half; our own processes are left out.

    Args:
        cpus: The processors that irbench may use; what others do elsewhere is left out too.
    """
    # what we have just loaded must not count as pressure
    load_average, pressure = os.getloadavg()[0], cpu_pressure()
    with CoreLink(tuple(cpus)) as link:
        before = snapshot(cpus)
        looks = _look(link)
        after = snapshot(cpus)
    wall_ns = after.at_ns - before.at_ns
    answered = tuple(latency_ns for latency_ns in looks if latency_ns is not None)
    return Activity(
        seconds=wall_ns / 1e9,
        foreign_share=foreign_cpu_ns(before, after) / wall_ns,
        programs=_programs(before, after),
        stolen_share=(after.steal_ns - before.steal_ns) / wall_ns,
        throttled_share=(after.throttled_ns - before.throttled_ns) / wall_ns,
        pressure=pressure,
        load_average=load_average,
        core_to_core=CoreToCore(answered) if answered else None,
        unanswered_looks=len(looks) - len(answered) if len(cpus) > 1 else 0,
    )


def _look(link: CoreLink) -> tuple[float | None, ...]:
    """Return core-to-core latencies in nanoseconds, taken again and again; ``None`` for each without an answer."""
    watch = Stopwatch()
    found: list[float | None] = []
    while watch.elapsed_s < LOOK_S:
        found.append(link.core_to_core_ns())
        sleep(_BETWEEN_LOOKS_S)
    return tuple(found)


def _programs(before: MachineSnapshot, after: MachineSnapshot) -> tuple[Program, ...]:
    """Return who used the processors most, largest first."""
    used_ns: Counter[int] = Counter()
    near = None if before.near is None or after.near is None else before.near | after.near
    for thread, cpu_ns in after.foreign.items():
        if near is None or thread in near:
            used_ns[process_of(thread)] += max(0, cpu_ns - before.foreign.get(thread, 0))
    wall_ns = after.at_ns - before.at_ns
    above = {parent.pid for parent in psutil.Process().parents()}
    return tuple(
        program_of(process, cpu_ns / wall_ns, above)
        for process, cpu_ns in used_ns.most_common(_NAMED)
        if cpu_ns >= _WORTH_NAMING * wall_ns
    )


def process_of(thread: int) -> int:
    """Return the process that a thread belongs to; a process belongs to itself."""
    for line in read_text(Path("/proc") / str(thread) / "status").splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    return thread


def program_of(number: int, share: float, above: Container[int]) -> Program:
    """Return what can be told of a process.

    Args:
        number: The process.
        share: Of one processor.
        above: The processes that started us.
    """
    try:
        process = psutil.Process(number)
        words = process.cmdline()
        name, command = name_of(process.name(), words), _command(words)
        lives = bool(command) and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        ours = process.uids().effective == os.geteuid()
        leads = os.getsid(number) == number
    except (psutil.Error, OSError):
        return Program("a program that has ended", number, share)
    stoppable = lives and ours and not leads and number not in above and not is_of_irbench(words)
    return Program(name, number, share, command, stoppable=stoppable)


def is_of_irbench(words: Sequence[str]) -> bool:
    """Whether a process belongs to another call of irbench, whose measurement would stop with it."""
    return any(
        word.partition(".")[0] == "irbench" or Path(word).name == "irbench" for word in words[:_WORDS_OF_PROGRAM]
    )


def name_of(name: str, words: Sequence[str]) -> str:
    """Return what tells a program from others: of an interpreter also its script or module, not its thread's name."""
    if not words:
        return name
    program = Path(words[0]).name
    if _INTERPRETER.fullmatch(program) is None:
        return name if name != "MainThread" else program
    module = words[1:] if list(words[1:2]) != ["-m"] else words[2:]
    script = Path(module[0]).name if module and not module[0].startswith("-") else ""
    return f"{program} {script}".strip()


def _command(words: Sequence[str]) -> str:
    """Return the beginning of a command line, without the folder of its program: what follows tells more."""
    line = " ".join((Path(words[0]).name, *words[1:])).rstrip() if words else ""
    return line if len(line) <= _COMMAND else f"{line[: _COMMAND - 3]}..."
