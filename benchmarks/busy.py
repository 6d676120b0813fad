"""Whether a busy machine's claim holds beside real programs: ``make bench-busy``, on a machine that is otherwise quiet.

Two backends do a known amount of work on one processor, and another program takes its share of it: in bursts, all the
time, more and more, or only while one of the backends runs. A load that slows both rows alike leaves the ratio of their
work as it is, so that the interval of the claim has to hold it; one that is tied to a row must leave no winner.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks import known_speed
from benchmarks.workbench import Workbench
from irbench.errors import ExitCode
from irbench.onnx.probe_graph import matmul
from irbench.result import GroupResult
from irbench.store import decode_document

__all__ = ["main"]

_RATIO, _CALL_US = 1.05, 21_000
"""How many times as fast the second backend is, and how much work a call of the first one is."""
_NEIGHBOUR = """
import os, sys, time
works, pauses, grows, beacon, processor = *map(float, sys.argv[1:4]), sys.argv[4], int(sys.argv[5])
os.sched_setaffinity(0, {processor})
began = time.monotonic()
while True:
    more = 1 + grows * (time.monotonic() - began)
    until = time.monotonic() + works * more
    while time.monotonic() < until:
        if beacon and time.time() - os.stat(beacon).st_mtime > 0.1:
            break
    time.sleep(pauses or (0.002 if beacon else 0))
"""
"""Works and pauses by turns, on one processor; with a beacon only while that was touched a moment ago."""
_NEIGHBOURS: Mapping[str, tuple[float, float, float, bool]] = {
    "bursts of 0.3 s, 43 %": (0.3, 0.4, 0.0, False),
    "bursts of 0.3 s, 70 %": (0.3, 0.13, 0.0, False),
    "bursts of 20 ms, 43 %": (0.02, 0.027, 0.0, False),
    "all the time": (1.0, 0.0, 0.0, False),
    "more and more": (0.1, 0.2, 0.05, False),
    "only in one row's turn": (0.05, 0.0, 0.0, True),
}
"""Seconds of work, of pauses, growth of the work in each second, and whether it is tied to the first backend."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Beside each neighbour.")
@click.option("--only", multiple=True, type=click.Choice(list(_NEIGHBOURS)), help="May be repeated.")
def main(runs: int, only: Sequence[str]) -> None:
    """Start real neighbours, and hold what irbench claims beside them against a known ratio.

    Exits with 1 where more than one run in five claims what is wrong, and with 2 where the backends are not installed.
    """
    if not known_speed.is_installed():
        click.echo("The backends of known speed are not installed here; call: make bench-busy", err=True)
        sys.exit(ExitCode.USAGE)
    wrong = 0
    click.echo("| neighbour | claim | speedup | disturbed | right |\n| --- | --- | --- | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="irbench-busy-") as folder:
        bench = Workbench(Path(folder), quick=False)
        for name in only or _NEIGHBOURS:
            for seed in range(1, runs + 1):
                table = _measured(bench, name, seed)
                is_right = _is_right(table, is_tied=_NEIGHBOURS[name][3])
                wrong += not is_right
                click.echo(f"| {name} | {_claim(table)} | {'yes' if is_right else 'NO'} |")
    sys.exit(ExitCode.DIFFERENT if 5 * wrong > runs * len(only or _NEIGHBOURS) else ExitCode.OK)


def _measured(bench: Workbench, name: str, seed: int) -> GroupResult:
    processor = min(os.sched_getaffinity(0))
    beacon = bench.scratch / "beacon"
    beacon.touch()
    model = matmul(bench.scratch, "fp32").path
    scripts = {"known-a.call_us": _CALL_US, "known-b.call_us": round(_CALL_US / _RATIO), "known-a.beacon": beacon}
    scripts |= {f"known-{letter}.wait": "work" for letter in "ab"}
    settings = (part for option, value in scripts.items() for part in ("--set", f"{option}={value}"))
    with _neighbour(name, beacon, processor):
        done = bench.irbench(
            "run", model, "--backends", "known-a,known-b", "--cpus", processor, "--threads", 1, "--seed", seed,
            *settings, "--format", "json",
        )  # fmt: skip
    (table,) = decode_document(done.out.encode(), "the run").groups
    return table


@contextmanager
def _neighbour(name: str, beacon: Path, processor: int) -> Iterator[None]:
    works_s, pauses_s, grows, is_tied = _NEIGHBOURS[name]
    asked = (works_s, pauses_s, grows, beacon if is_tied else "", processor)
    started = subprocess.Popen([sys.executable, "-c", _NEIGHBOUR, *map(str, asked)])
    try:
        yield
    finally:
        started.kill()
        started.wait()


def _is_right(table: GroupResult, *, is_tied: bool) -> bool:
    """Whether a table claims nothing wrong: it may leave a ratio undecided, and must where the load is tied."""
    speedup = next(row.speedup for row in table.cells if row.speedup is not None)
    if is_tied:
        return table.winner is None
    return speedup.low is None or speedup.high is None or speedup.low <= _RATIO <= speedup.high


def _claim(table: GroupResult) -> str:
    speedup = next(row.speedup for row in table.cells if row.speedup is not None)
    reason = table.lead.reason if table.lead is not None else None
    said = f"{reason or 'winner'}{', busy machine' if table.condition else ''}"
    disturbed = f"{table.blocks_disturbed} of {table.blocks_measured}"
    interval = "no interval" if speedup.low is None else f"[{speedup.low:.3f}, {speedup.high:.3f}]"
    return f"{said} | {speedup.value:.3f} {interval} | {disturbed}"


if __name__ == "__main__":
    main()
