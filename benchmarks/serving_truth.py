"""Whether ``irbench serve`` counts what requests wait, where theory knows it: ``make bench-serving``.

Calls of 5 ms in one queue make it an M/D/1 queue, whose latency is known at each rate. MLPerf's LoadGen is given the
same queue in a process of its own. Both have arrivals of their own, and requests of one queue wait together, so figures
of so few stray from what theory predicts. How far follows from theory as well: a thousand runs as long are played with
calls of exactly 5 ms, and a figure of irbench shall lie where those of 95 % of them do. What the very requests of each
program would take without any overhead follows from when they came, by Lindley's recursion. Then every 200th call
stalls, which a load that waits for its answers does not see.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, save

from benchmarks import known_speed
from benchmarks.output import refuse_unwritable
from benchmarks.serving.queue_theory import latencies_ms, md1_mean_ms, md1_percentile_ms
from benchmarks.workbench import Workbench
from irbench.core.record import ServedLoad
from irbench.errors import ExitCode
from irbench.render.table import Row, TableColumn, TextTable
from irbench.store.runs import Store
from irbench.terminal.console import print_data, to_text

_SERVICE_MS = 5.0
_STALL_MS, _STALL_EVERY, _STALLED_PER_S = 250.0, 200, 100.0
_RATES_PER_S = (33.0, 125.0)
_LAUNCHES = 6
"""Of a load, as many as irbench serve has without a budget."""
_SIMULATED = 2_000_000
_RUNS, _SHARE = 1000, 0.95
"""So many runs are played, and a figure shall lie within this share of them, as far below as above the rest."""
_BACKEND = "known-a"
_LOADGEN = Path(__file__).parent / "serving" / "loadgen_queue.py"


@dataclass(frozen=True)
class Figures:
    """Latency of a load, in milliseconds."""

    mean_ms: float
    p99_ms: float


_FIGURES: Mapping[str, Callable[[Figures], float]] = {
    "mean": lambda figures: figures.mean_ms,
    "p99": lambda figures: figures.p99_ms,
}


@dataclass(frozen=True)
class Measured:
    """What a program measured of a load, and what its very requests would take without overhead."""

    found: Figures
    ideal: Figures


@dataclass(frozen=True)
class Load:
    """A load that both programs were given.

    Attributes:
        words: What it is.
        predicted: What theory says of it.
        loadgen: What LoadGen measured.
        irbench: What irbench serve measured.
        by_chance: The lowest and the highest figures that chance allows a run as long; ``None`` where requests follow
            answers, or are not what is counted.
    """

    words: str
    predicted: Figures
    loadgen: Measured
    irbench: Measured
    by_chance: tuple[Figures, Figures] | None = None

    def outside(self) -> Iterator[str]:
        """Yield what is wrong with each figure of irbench that chance alone would not make."""
        if self.by_chance is None:
            return
        for name, figure in _FIGURES.items():
            low, found, high = map(figure, (self.by_chance[0], self.irbench.found, self.by_chance[1]))
            if not low <= found <= high:
                yield (
                    f"{self.words}: the {name} of irbench is {found:.2f} ms; by chance alone {_SHARE:.0%} of runs have"
                    f" {low:.2f} to {high:.2f} ms"
                )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seconds", type=click.FloatRange(min=15), default=36.0, show_default=True, help="Of each load.")
@click.option("--loadgen", "python", required=True, metavar="PYTHON", help="Interpreter of LoadGen's environment.")
@click.option("--format", "form", type=click.Choice(["table", "md"]), default="table", help="How to print it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead.")
def main(seconds: float, python: str, form: str, output: Path | None) -> None:
    """Give a queue of known service time the same loads by LoadGen and by irbench serve, beside what theory says.

    Exits with 1 where a figure of irbench lies outside of what chance allows a run without overhead.
    """
    refuse_unwritable(output)
    if not known_speed.is_installed():
        raise click.UsageError("The backends of known speed are not installed here; call: make bench-serving")
    with tempfile.TemporaryDirectory(prefix="irbench-serving-") as folder:
        loads = list(_loads(_Programs(Workbench(Path(folder), quick=False), python, seconds)))
    table = table_of(loads)
    print_data(table.as_markdown() if form == "md" else to_text(table, to_file=output is not None), output)
    missed = [problem for load in loads for problem in load.outside()]
    for problem in missed:
        click.echo(f"missed: {problem}", err=True)
    sys.exit(ExitCode.DIFFERENT if missed else ExitCode.OK)


def table_of(loads: Sequence[Load]) -> TextTable:
    """Return the mean and the 99th percentile of each load, by who says so."""
    headings = (f"predicted [{_SHARE:.0%} of runs]", "LoadGen", "its requests", "irbench serve", "its requests")
    columns = (TableColumn("load", words=True), TableColumn("ms", words=True), *map(TableColumn, headings))
    return TextTable(columns, tuple(row for load in loads for row in _rows(load)))


def _rows(load: Load) -> Iterator[Row]:
    said = (load.loadgen.found, load.loadgen.ideal, load.irbench.found, load.irbench.ideal)
    for name, figure in _FIGURES.items():
        ends = "" if load.by_chance is None else " [{:.2f}, {:.2f}]".format(*map(figure, load.by_chance))
        words = load.words if name == "mean" else ""
        yield Row((words, name, f"{figure(load.predicted):.2f}{ends}", *(f"{figure(each):.2f}" for each in said)))


@dataclass(frozen=True)
class Served:
    """A load of a run of irbench serve: the figures that it shows, and its raw requests, launch by launch."""

    found: Figures
    launches: Sequence[ServedLoad]
    stall_ms: float

    @property
    def calls_ms(self) -> list[NDArray[np.float64]]:
        """How long the call of each request took, launch by launch."""
        return [(load.end_ns - load.start_ns) / 1e6 for load in self.launches]

    def from_schedule(self) -> Measured:
        """Return the figures beside those of the same requests without overhead."""
        ideal = [
            latencies_ms((load.due_ns - load.due_ns[0]) / 1e6, known_service_ms(taken, self.stall_ms))
            for load, taken in zip(self.launches, self.calls_ms, strict=True)
        ]
        return Measured(self.found, _of_all(ideal))

    def calls_alone(self) -> Measured:
        """Return the figures of the calls, whatever their requests waited."""
        calls = self.calls_ms
        return Measured(_of_all(calls), _of_all([known_service_ms(taken, self.stall_ms) for taken in calls]))


def _of_all(launches: Sequence[NDArray[np.float64]]) -> Figures:
    """Return the mean and the 99th percentile of all launches together, as irbench makes them."""
    pooled_ms = np.concatenate(launches)
    return Figures(float(pooled_ms.mean()), float(np.percentile(pooled_ms, 99)))


def known_service_ms(taken_ms: NDArray[np.float64], stall_ms: float) -> NDArray[np.float64]:
    """Return how long calls were asked to last: which of them stalled is told by how long they took."""
    stalled = (taken_ms > _SERVICE_MS + stall_ms / 2) & (stall_ms > 0)
    return np.where(stalled, _SERVICE_MS + stall_ms, _SERVICE_MS)


class _Programs:
    """Gives the queue its loads.

    Attributes:
        seconds: How long requests of each load arrive.
    """

    def __init__(self, bench: Workbench, python: str, seconds: float) -> None:
        self._bench, self._python, self.seconds = bench, python, seconds
        self._model = _model_of_one_sample(bench.scratch)

    def loadgen(self, scenario: str, seconds: float, rate: float = 1.0, stall_ms: float = 0.0) -> dict[str, Any]:
        """Return what LoadGen's process prints."""
        stalls = ("--stall-ms", stall_ms, "--stall-every", _STALL_EVERY)
        asked = ("--scenario", scenario, "--rate", rate, "--seconds", seconds, "--service-ms", _SERVICE_MS, *stalls)
        click.echo(f"LoadGen: {scenario}, {rate:g}/s", err=True)
        done = subprocess.run([self._python, _LOADGEN, *map(str, asked)], stdout=subprocess.PIPE, check=True)
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def irbench(self, seconds: float, *arguments: object, stall_ms: float = 0.0) -> Iterator[Served]:
        """Yield each load of a run of irbench serve, in the order of rates."""
        click.echo(f"irbench serve {' '.join(map(str, arguments))}", err=True)
        root = Path(tempfile.mkdtemp(dir=self._bench.scratch))
        options = {"call_us": 1e3 * _SERVICE_MS, "wait": "sleep", "stall_ms": stall_ms, "stall_every": _STALL_EVERY}
        asked = (part for name, value in options.items() for part in ("--set", f"{_BACKEND}.{name}={value}"))
        lasts = ("--for", f"{seconds / _LAUNCHES:g}s", "--results", root)
        self._bench.irbench("serve", self._model, "--backends", _BACKEND, *asked, *arguments, *lasts)
        store = Store(root)
        folder = store.find("latest")
        served = [load for record in store.launches(folder) for cell in record.cells for load in cell.served]
        for row in store.load(folder).serving[0].rows:
            assert row.load is not None
            assert row.load.mean_ms is not None
            assert row.load.p99_ms is not None
            rate = row.load.rate_per_s or 0.0
            found = Figures(row.load.mean_ms, row.load.p99_ms)
            yield Served(found, [load for load in served if load.offered.rate_per_s == rate], stall_ms)


def _model_of_one_sample(folder: Path) -> Path:
    """Write a model for batch 1: with a larger one a call would answer several requests."""
    value, answer = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [value], [answer])
    path = folder / "relu.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def _loads(programs: _Programs) -> Iterator[Load]:
    """Measure each load with both programs."""
    rates = ",".join(f"{rate:g}" for rate in _RATES_PER_S)
    fixed = [served.from_schedule() for served in programs.irbench(programs.seconds, "--rate", rates)]
    for rate, ours in zip(_RATES_PER_S, fixed, strict=True):
        predicted = Figures(md1_mean_ms(_SERVICE_MS, rate), md1_percentile_ms(_SERVICE_MS, rate, 99))
        theirs = of_loadgen(programs.loadgen("Server", programs.seconds, rate))
        yield Load(f"{rate:g} requests/s", predicted, theirs, ours, by_chance(rate, programs.seconds))
    yield from _stalled_loads(programs)


def _stalled_loads(programs: _Programs) -> Iterator[Load]:
    """Measure calls of which some stall: from the schedule, alone, and one after the other."""
    (ours,) = programs.irbench(programs.seconds, "--rate", f"{_STALLED_PER_S:g}", stall_ms=_STALL_MS)
    theirs = programs.loadgen("Server", programs.seconds, _STALLED_PER_S, _STALL_MS)
    calls = Figures(_SERVICE_MS + _STALL_MS / _STALL_EVERY, _SERVICE_MS)
    stalls = f"stalls, {_STALLED_PER_S:g} requests/s"
    strays = by_chance(_STALLED_PER_S, programs.seconds, _STALL_MS)
    scheduled = of_loadgen(theirs, _STALL_MS), ours.from_schedule()
    yield Load(f"{stalls}, from the schedule", simulated(), *scheduled, strays)
    yield Load(f"{stalls}, calls alone", calls, _calls_of_loadgen(theirs), ours.calls_alone())
    (ours,) = programs.irbench(programs.seconds / 3, "--scenario", "single", stall_ms=_STALL_MS)
    theirs = programs.loadgen("SingleStream", programs.seconds / 3, stall_ms=_STALL_MS)
    one_by_one = Measured(Figures(theirs["mean_ms"], theirs["p99_ms"]), _calls_of_loadgen(theirs).ideal)
    yield Load(
        "stalls, each request after an answer", calls, one_by_one, Measured(ours.found, ours.calls_alone().ideal)
    )


def simulated() -> Figures:
    """Return what theory says of calls that stall, from so many requests that chance does not show."""
    gaps_ms = np.random.default_rng(1).exponential(1e3 / _STALLED_PER_S, _SIMULATED)
    stalls = np.arange(1, _SIMULATED + 1) % _STALL_EVERY == 0
    taken_ms = latencies_ms(np.cumsum(gaps_ms), _SERVICE_MS + stalls * _STALL_MS)
    return Figures(float(taken_ms.mean()), float(np.percentile(taken_ms, 99)))


def by_chance(rate_per_s: float, seconds: float, stall_ms: float = 0.0) -> tuple[Figures, Figures]:
    """Return the lowest and the highest figures of most runs as long as those of irbench, without any overhead."""
    random = np.random.default_rng(3)
    requests = round(rate_per_s * seconds / _LAUNCHES)
    runs = [_of_all([_played(random, rate_per_s, requests, stall_ms) for _ in range(_LAUNCHES)]) for _ in range(_RUNS)]
    below, above = (
        Figures(*(float(np.quantile([figure(run) for run in runs], share)) for figure in _FIGURES.values()))
        for share in ((1 - _SHARE) / 2, (1 + _SHARE) / 2)
    )
    return below, above


def _played(random: np.random.Generator, rate_per_s: float, requests: int, stall_ms: float) -> NDArray[np.float64]:
    """Return the latencies of a launch, in milliseconds; untimed calls before it have some share in the first stall."""
    due_ms = np.cumsum(random.exponential(1e3 / rate_per_s, requests))
    stalls = (np.arange(requests) + random.integers(_STALL_EVERY)) % _STALL_EVERY == 0
    return latencies_ms(due_ms, _SERVICE_MS + stalls * stall_ms)


def of_loadgen(printed: dict[str, Any], stall_ms: float = 0.0) -> Measured:
    """Return LoadGen's figures beside those of the same queries without overhead."""
    came_ms = 1e3 * np.array(printed["came_s"])
    ideal = latencies_ms(came_ms - came_ms[0], known_service_ms(1e3 * np.array(printed["took_s"]), stall_ms))
    return Measured(Figures(printed["mean_ms"], printed["p99_ms"]), _of_all([ideal]))


def _calls_of_loadgen(printed: dict[str, Any]) -> Measured:
    taken_ms = 1e3 * np.array(printed["took_s"])
    return Measured(_of_all([taken_ms]), _of_all([known_service_ms(taken_ms, _STALL_MS)]))


if __name__ == "__main__":
    main()
