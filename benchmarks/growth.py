"""How what looks at many stored runs grows with their number: ``python -m benchmarks.growth 1000 10000 100000``."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import click
import numpy as np
import onnx
from onnx import helper

from benchmarks.rows import Finding, Goal
from benchmarks.storing import Stored, short_run
from benchmarks.workbench import Finished, Workbench
from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.measure.clock import utc_now
from irbench.onnx.probe_graph import matmul
from irbench.render.table import Row, TableColumn, TextTable
from irbench.stats.rederive import rederive
from irbench.store.folders import RUN_FILE, new_ulid, place_of
from irbench.store.launch_files import encode_launch
from irbench.store.run_document import encode_document
from irbench.terminal.console import print_data, to_text

_COUNTS, _FEWER = (1000, 10_000), (100,)
_VARIANTS = 40
_SCATTER = 0.02
_SAMPLES = 12
"""Of each round that are kept: a hundred thousand runs have to fit on a disk."""

_APART = timedelta(minutes=30)
_SECONDS, _MEGABYTES = Goal("own", "<", 5.0), Goal("own", "<", 300.0)
_GOALS_AT = 10_000


_FIRST, _INSPECT, _MARKDOWN = "history, first", "inspect, nodes", "results export --all, md"
_WITHOUT_GOAL = (_FIRST, _INSPECT, _MARKDOWN)


@dataclass(frozen=True)
class Cost:
    """What a call took, once or repeatedly.

    Attributes:
        what: The call.
        count: Of stored runs, or of nodes.
        cpu_s: Processor time of each repeat: on a machine that others use, too, it says more than the time that passed.
        peaks_mb: Peak of resident memory of each repeat.
    """

    what: str
    count: int
    cpu_s: tuple[float, ...]
    peaks_mb: tuple[float, ...]


@dataclass(frozen=True)
class Variant:
    """A run as its files have it, whose figures follow from its samples."""

    document: RunDocument
    launches: Mapping[str, bytes]


def measure(bench: Workbench, counts: Sequence[int] = ()) -> Iterator[Finding]:
    """Yield the processor time and the memory of each call; the goals are those of 10,000 runs, once each was read."""
    for cost in costs(bench, counts or (_FEWER if bench.quick else _COUNTS)):
        has_goal = cost.count == _GOALS_AT and cost.what not in _WITHOUT_GOAL
        what = f"{cost.count} {'nodes' if cost.what == _INSPECT else 'runs'}, {cost.what}"
        yield Finding("growth", f"{what}: processor time", "s", cost.cpu_s, goal=_SECONDS if has_goal else None)
        yield Finding("growth", f"{what}: memory", "MB", cost.peaks_mb, goal=_MEGABYTES if has_goal else None)


def costs(bench: Workbench, counts: Sequence[int]) -> Iterator[Cost]:
    """Call irbench on stores of so many runs of one model, and on graphs of so many nodes."""
    run = short_run(bench, matmul(bench.scratch, "fp32").path)
    for count in counts:
        root, graph = bench.scratch / f"growth-{count}", bench.scratch / f"chain-{count}.onnx"
        ends = store_variants(root, variants(run, _VARIANTS), count)
        for what, arguments in _calls(ends, bench.scratch / "exported").items():
            call = partial(bench.irbench, *arguments, "--results", root, watch_memory=True)
            yield _cost(what, count, call, bench)
        shutil.rmtree(root)
        onnx.save(_chain(count), graph)
        yield _cost(_INSPECT, count, partial(bench.irbench, "inspect", graph, watch_memory=True), bench)


def table_of(found: Sequence[Cost]) -> TextTable:
    """Return a line for each call, with medians for each number of runs or nodes."""
    counts = sorted({cost.count for cost in found})
    cells = {(cost.what, cost.count): f"{median(cost.cpu_s):.2f} s, {median(cost.peaks_mb):.0f} MB" for cost in found}
    columns = (TableColumn("processor time, peak memory", words=True), *(TableColumn(f"{count:,}") for count in counts))
    rows = (
        Row((what, *(cells.get((what, count), "-") for count in counts)))
        for what in dict.fromkeys(cost.what for cost in found)
    )
    return TextTable(columns, tuple(rows))


def _calls(ends: tuple[str, str], output: Path) -> Mapping[str, Sequence[object]]:
    """Return the calls by what they are; the first finds neither an index nor summaries."""
    export = ("results", "export", "--all", "--force", "-o")
    return {
        _FIRST: ("history",),
        "history": ("history",),
        "compare of two runs": ("compare", *ends),
        "results, newest 100": ("results", "--limit", 100),
        "results, into a pipe": ("results",),
        "results --format json": ("results", "--format", "json"),
        "results --format csv": ("results", "--format", "csv"),
        "results export --all, csv": (*export, output.with_suffix(".csv")),
        "results export --all, jsonl": (*export, output.with_suffix(".jsonl")),
        _MARKDOWN: (*export, output.with_suffix(".md")),
    }


def _cost(what: str, count: int, call: Callable[[], Finished], bench: Workbench) -> Cost:
    done = [call() for _ in range(1 if what in _WITHOUT_GOAL else bench.repeats(3))]
    return Cost(what, count, tuple(item.cpu_s for item in done), tuple(item.peak_bytes / 1e6 for item in done))


def _chain(count: int) -> onnx.ModelProto:
    """Return a graph of so many nodes, each of which takes the output of the one before."""
    nodes = [helper.make_node("Relu", [f"v{at}"], [f"v{at + 1}"], name=f"relu_{at}") for at in range(count)]
    ends = [helper.make_tensor_value_info(f"v{at}", onnx.TensorProto.FLOAT, [1, 8]) for at in (0, count)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def variants(run: Stored, count: int) -> list[Variant]:
    """Return runs that scatter as a machine does, each with the tables that follow from its samples."""
    factors = 1 + _SCATTER * np.random.default_rng(1).standard_normal(count)
    return [_variant(run, factor) for factor in factors]


def store_variants(root: Path, made: Sequence[Variant], count: int) -> tuple[str, str]:
    """Write runs below ``root``, each with its own id and time; return the oldest and the newest id."""
    newest, ids = utc_now(), list[str]()
    for number, place in enumerate(np.random.default_rng(2).integers(len(made), size=count)):
        created = newest - (count - number) * _APART
        ids.append(new_ulid(created))
        _write(root, made[place], ids[-1], created)
    return ids[0], ids[-1]


def _variant(run: Stored, factor: float) -> Variant:
    records = [_scaled(record, factor) for record in run.launches]
    files = {f"launch-{item.group:02d}-{item.launch:02d}.bin": encode_launch(item) for item in records}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return Variant(replace(rederive(run.document, records), launches=digests, complete=True), files)


def _scaled(record: LaunchRecord, factor: float) -> LaunchRecord:
    """Return a launch with the first samples of each round, all longer by a factor."""
    cells = tuple(
        replace(
            cell,
            tail_ns=cell.tail_ns[:0],
            rounds=tuple(
                replace(
                    part,
                    issue_ns=(part.issue_ns[:_SAMPLES] * factor).astype("int64"),
                    completion_ns=(part.completion_ns[:_SAMPLES] * factor).astype("int64"),
                )
                for part in cell.rounds
            ),
        )
        for cell in record.cells
    )
    return replace(record, cells=cells)


def _write(root: Path, made: Variant, run_id: str, created: datetime) -> None:
    document = replace(made.document, run_id=run_id, created=created.isoformat(timespec="seconds"))
    folder = place_of(root, document.created, run_id)
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_bytes(encode_document(document))
    for name, data in made.launches.items():
        (folder / name).write_bytes(data)


@click.command()
@click.argument("counts", nargs=-1, type=click.IntRange(min=2))
def main(counts: Sequence[int]) -> None:
    """Print how histories, comparisons, listings, exports and inspections grow with what they look at."""
    found: list[Cost] = []
    with tempfile.TemporaryDirectory(prefix="irbench-growth-") as folder:
        for cost in costs(Workbench(Path(folder), quick=False), counts or _COUNTS):
            found.append(cost)
            click.echo(f"{cost.count}, {cost.what}: {median(cost.cpu_s):.2f} s", err=True)
    print_data(to_text(table_of(found), to_file=False), None)


if __name__ == "__main__":
    main()
