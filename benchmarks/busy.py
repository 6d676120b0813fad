"""Whether a busy machine's claim holds beside real programs: ``make bench-busy``, on a machine that is otherwise quiet.

Two backends do a known amount of work on one processor, and another program takes its share of it: in bursts, all the
time, more and more, or only while one of the backends runs. A load that slows both rows alike leaves the ratio of their
work as it is, so that the interval of the claim has to hold it; one that is tied to a row must leave no winner.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import click

from benchmarks import known_speed
from benchmarks.workbench import Workbench
from irbench.core.result import GroupResult
from irbench.errors import ExitCode

_RATIO, _CALL_US = 1.05, 21_000
"""How many times as fast the second backend is, and how much work a call of the first one is."""
_NEIGHBOUR = """
import os, sys, time
works, pauses, grows, beacon, processors = *map(float, sys.argv[1:4]), sys.argv[4], sys.argv[5]
os.sched_setaffinity(0, set(map(int, processors.split(","))))
began, parent = time.monotonic(), os.getppid()
while os.getppid() == parent:
    more = 1 + grows * (time.monotonic() - began)
    until = time.monotonic() + works * more
    while time.monotonic() < until:
        if beacon and time.time() - os.stat(beacon).st_mtime > 0.1:
            break
    time.sleep(pauses or (0.002 if beacon else 0))
"""
"""Works and pauses by turns, with a beacon only while that was touched a moment ago; ends with what started it."""


@dataclass(frozen=True)
class Neighbour:
    """Another program.

    Attributes:
        works_s: Seconds of work.
        pauses_s: Of pauses.
        grows: Growth of the work in each second.
        is_tied: Whether it works only while the first backend runs.
        least_decided: In which share of the runs beside it 5 % are told apart, or its being tied is found, at least:
            none where intervals are wider than 5 % in simulations.
    """

    works_s: float
    pauses_s: float
    grows: float = 0.0
    is_tied: bool = False
    least_decided: float = 0.0


_NEIGHBOURS: Mapping[str, Neighbour] = {
    "bursts of 0.3 s, 43 %": Neighbour(0.3, 0.4),
    "bursts of 0.3 s, 70 %": Neighbour(0.3, 0.13),
    "bursts of 20 ms, 43 %": Neighbour(0.02, 0.027),
    "all the time": Neighbour(1.0, 0.0, least_decided=0.5),
    "more and more": Neighbour(0.1, 0.2, 0.05),
    "only in one row's turn": Neighbour(0.05, 0.0, is_tied=True, least_decided=0.5),
}
Outcome: TypeAlias = Literal["wrong", "decided", "open", "no interval"]
_WITH_INTERVALS = 0.8
"""The share of runs beside a load that is not tied that have an interval, at least."""
_PROMISED, _UNLIKELY = 0.05, 0.05
"""How many claims may be wrong, and how improbable more wrong ones are than a run may have."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Beside each neighbour.")
@click.option("--only", multiple=True, type=click.Choice(list(_NEIGHBOURS)), help="May be repeated.")
def main(runs: int, only: Sequence[str]) -> None:
    """Start real neighbours, and hold what irbench claims beside them against a known ratio.

    Exits with 1 where more claims are wrong than 95 % intervals explain, or too little is claimed at all, and with 2
    where the backends are not installed.
    """
    if not known_speed.is_installed():
        click.echo("The backends of known speed are not installed here; call: make bench-busy", err=True)
        sys.exit(ExitCode.USAGE)
    found: dict[str, list[Outcome]] = {}
    click.echo("| neighbour | claim | speedup | disturbed | outcome |\n| --- | --- | --- | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="irbench-busy-") as folder:
        bench = Workbench(Path(folder), quick=False)
        for name in only or _NEIGHBOURS:
            for seed in range(1, runs + 1):
                table = _measured(bench, name, seed)
                outcome = outcome_of(table, is_tied=_NEIGHBOURS[name].is_tied)
                found.setdefault(name, []).append(outcome)
                click.echo(f"| {name} | {_claim(table)} | {outcome} |")
    problems = list(faults(found))
    for problem in problems:
        click.echo(problem, err=True)
    sys.exit(ExitCode.DIFFERENT if problems else ExitCode.OK)


def _measured(bench: Workbench, name: str, seed: int) -> GroupResult:
    processor = min(os.sched_getaffinity(0))
    beacon = bench.scratch / "beacon"
    beacon.touch()
    scripts = {"known-a.call_us": _CALL_US, "known-b.call_us": round(_CALL_US / _RATIO), "known-a.beacon": beacon}
    scripts |= {f"known-{letter}.wait": "work" for letter in "ab"}
    asked = ("--backends", "known-a,known-b", "--cpus", processor, "--threads", 1, "--seed", seed)
    with running(_NEIGHBOURS[name], [processor], beacon):
        return known_speed.run_once(bench, scripts, *asked)


@contextmanager
def running(neighbour: Neighbour, processors: Iterable[int], beacon: Path | None = None) -> Iterator[None]:
    """Let a neighbour run on one of these processors; one that is tied works while ``beacon`` is touched."""
    beside = beacon if neighbour.is_tied and beacon is not None else ""
    asked = (neighbour.works_s, neighbour.pauses_s, neighbour.grows, beside, ",".join(map(str, processors)))
    started = subprocess.Popen([sys.executable, "-c", _NEIGHBOUR, *map(str, asked)])
    try:
        yield
    finally:
        started.kill()
        started.wait()


def outcome_of(table: GroupResult, *, is_tied: bool) -> Outcome:
    """Return what a table claims: it may leave a ratio open, and must where the load is tied."""
    speedup = next(row.speedup for row in table.cells if row.speedup is not None)
    is_claimed = table.winner is not None or speedup.verdict in ("faster", "slower", "same")
    if is_tied:
        is_found = table.lead is not None and table.lead.reason == "uneven-load"
        return "wrong" if is_claimed else "decided" if is_found else "open"
    if speedup.low is None or speedup.high is None:
        return "wrong" if is_claimed else "no interval"
    if not speedup.low <= _RATIO <= speedup.high:
        return "wrong"
    return "decided" if speedup.verdict == "faster" else "open"


def faults(found: Mapping[str, Sequence[Outcome]]) -> Iterator[str]:
    """Yield what speaks against a benchmark's runs, by neighbour: too many wrong claims, or too few at all."""
    for is_tied in (False, True):
        runs: list[Outcome] = [
            out for name, seen in found.items() if _NEIGHBOURS[name].is_tied == is_tied for out in seen
        ]
        yield from _too_many_wrong(runs, "a load that is tied" if is_tied else "a load that is not tied")
        if not is_tied and runs.count("no interval") > (1 - _WITH_INTERVALS) * len(runs):
            yield f"{runs.count('no interval')} of {len(runs)} runs beside a load that is not tied have no interval."
    for name, seen in found.items():
        if seen.count("decided") < _NEIGHBOURS[name].least_decided * len(seen):
            yield f"Only {seen.count('decided')} of {len(seen)} runs beside {name!r} are decided."


def _too_many_wrong(runs: Sequence[Outcome], beside: str) -> Iterator[str]:
    claimed, wrong = len(runs) - runs.count("no interval"), runs.count("wrong")
    if wrong and _as_many(wrong, claimed) < _UNLIKELY:
        yield f"{wrong} of {claimed} claims beside {beside} are wrong: more than 95 % intervals explain."


def _as_many(wrong: int, claimed: int) -> float:
    """Return how probable so many wrong claims or more are, if each is wrong as often as is promised."""
    return sum(
        math.comb(claimed, count) * _PROMISED**count * (1 - _PROMISED) ** (claimed - count)
        for count in range(wrong, claimed + 1)
    )


def _claim(table: GroupResult) -> str:
    speedup = next(row.speedup for row in table.cells if row.speedup is not None)
    reason = table.lead.reason if table.lead is not None else None
    said = f"{reason or 'winner'}{', busy machine' if table.condition else ''}"
    disturbed = f"{table.blocks_disturbed} of {table.blocks_measured}"
    interval = "no interval" if speedup.low is None else f"[{speedup.low:.3f}, {speedup.high:.3f}]"
    return f"{said} | {speedup.value:.3f} {interval} | {disturbed}"


if __name__ == "__main__":
    main()
