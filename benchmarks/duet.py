"""Two rows side by side on half of the processors each, against the same rows by turns on all of them.

Duet benchmarking (Bulej et al., "Duet Benchmarking: Improving Measurement Accuracy in the Cloud", ICPE 2020) runs two
programs at the same time, so that both meet the same neighbours. ``python -m benchmarks.duet MODEL.onnx`` measures
what that is worth for two runtimes, on a quiet machine and beside a program that works 3 s of every 6 s: how launches
scatter around the ratio of the two, and whether it is the ratio of the question, in which each has all processors.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx

from benchmarks.busy import Neighbour, running
from irbench.measure.clock import now_ns
from irbench.render.table import Row, TableColumn, TextTable
from irbench.stats.intervals import hodges_lehmann
from irbench.terminal.console import to_text

_BLOCKS, _ROUND_S = 8, 0.5
_PAIRS = (("ort", "openvino"), ("ort", "ort"))
_WORKS_S = _PAUSES_S = 3.0


@dataclass(frozen=True)
class Runner:
    """A process that calls one runtime."""

    process: Any
    orders: Any

    def begin(self, seconds: float) -> None:
        """Let it call for so long."""
        self.orders.send(seconds)

    def end(self) -> float:
        """Return the logarithm of the median time of its calls, in nanoseconds."""
        return float(self.orders.recv())

    def freeze(self, *, frozen: bool) -> None:
        """Stop it, or let it go on: a runtime's threads may spin while nobody calls."""
        os.kill(self.process.pid, signal.SIGSTOP if frozen else signal.SIGCONT)


@click.command()
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--launches",
    type=click.IntRange(min=2),
    default=8,
    show_default=True,
    help="Of each pair, each way and each condition.",
)
def main(model: Path, launches: int) -> None:
    """Measure pairs of runtimes on MODEL by turns and side by side, and print how launches scatter.

    MODEL has one input, float32; a dimension without a size is 1.
    """
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise click.ClickException("Two processors are needed, one for each of two that run side by side.")
    ways: dict[str, Callable[[Path, Sequence[str], Sequence[int], int], float]] = {
        "by turns": _by_turns,
        "side by side": _side_by_side,
    }
    found: dict[tuple[str, str, str], list[float]] = {}
    for launch in range(launches):
        for condition in ("quiet", "bursts"):
            busy = running(Neighbour(_WORKS_S, _PAUSES_S), processors) if condition == "bursts" else nullcontext()
            with busy:
                for pair in _PAIRS:
                    for way, measure in ways.items():
                        ratio = measure(model, pair, processors, launch)
                        found.setdefault((" / ".join(pair), condition, way), []).append(ratio)
                        click.echo(f"{launch}: {' / '.join(pair)}, {condition}, {way}: {math.exp(ratio):.3f}", err=True)
    columns = ("pair", "machine", "way", "median ratio", "sd of launches", "largest - smallest")
    rows = (
        Row(
            (
                *key,
                f"{math.exp(statistics.median(ratios)):.3f}",
                f"{100 * statistics.stdev(ratios):.1f} %",
                f"{100 * (max(ratios) - min(ratios)):.1f} %",
            )
        )
        for key, ratios in found.items()
    )
    table = TextTable(tuple(TableColumn(name, words=place < 3) for place, name in enumerate(columns)), tuple(rows))
    click.echo(to_text(table, to_file=True), nl=False)


def _by_turns(model: Path, pair: Sequence[str], processors: Sequence[int], seed: int) -> float:
    """Return ln(time of the first / time of the second) of one launch, with all processors for each."""
    drawn, ratios = random.Random(seed), []  # noqa: S311 - order, not secrecy
    with _running(model, [(name, processors) for name in pair]) as runners:
        for runner in runners:
            runner.freeze(frozen=True)
        for _ in range(_BLOCKS):
            times = {}
            for place in drawn.sample(range(2), 2):
                runners[place].freeze(frozen=False)
                runners[place].begin(_ROUND_S)
                times[place] = runners[place].end()
                runners[place].freeze(frozen=True)
            ratios.append(times[0] - times[1])
        for runner in runners:
            runner.freeze(frozen=False)
    return hodges_lehmann(ratios)


def _side_by_side(model: Path, pair: Sequence[str], processors: Sequence[int], launch: int) -> float:
    """Return the same of two that run at once with a processor each, which they change from launch to launch."""
    places = list(processors) if launch % 2 else list(reversed(processors))
    with _running(model, [(name, [place]) for name, place in zip(pair, places, strict=True)]) as runners:
        ratios = []
        for _ in range(_BLOCKS):
            for runner in runners:
                runner.begin(2 * _ROUND_S)
            first, second = (runner.end() for runner in runners)
            ratios.append(first - second)
    return hodges_lehmann(ratios)


@contextmanager
def _running(model: Path, asked: Sequence[tuple[str, Sequence[int]]]) -> Iterator[list[Runner]]:
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        runners = []
        for name, processors in asked:
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there, name, str(model), tuple(processors)), daemon=True)
            process.start()
            there.close()  # so that a process that fails to start is noticed
            stack.callback(process.kill)
            runners.append(Runner(process, here))
        for runner in runners:
            runner.end()  # it is warm
        yield runners


def _work(orders: Any, name: str, model: str, processors: Sequence[int]) -> None:
    os.sched_setaffinity(0, processors)
    call = _session(name, model, len(processors))
    for _ in range(5):
        call()
    orders.send(0.0)
    while True:
        seconds = orders.recv()
        times_ns, began_ns = [], now_ns()
        while now_ns() - began_ns < seconds * 1e9:
            before_ns = now_ns()
            call()
            times_ns.append(now_ns() - before_ns)
        orders.send(math.log(statistics.median(times_ns)))


def _session(name: str, model: str, threads: int) -> Callable[[], object]:
    (declared,) = onnx.load(model).graph.input
    shape = [dimension.dim_value or 1 for dimension in declared.type.tensor_type.shape.dim]
    given = np.random.default_rng(0).random(shape, np.float32)
    if name == "ort":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {declared.name: given})
    import openvino

    compiled = openvino.Core().compile_model(
        model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    )
    request = compiled.create_infer_request()
    return lambda: request.infer([given])


if __name__ == "__main__":
    main()
