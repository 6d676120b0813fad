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

import click
import numpy as np

from benchmarks.rows import Finding, Goal, as_table
from benchmarks.storing import Stored, short_run
from benchmarks.workbench import Finished, Workbench
from irbench.cli.output.console import print_data, to_text
from irbench.measure.clock import utc_now
from irbench.onnx.probe_graph import matmul
from irbench.record import LaunchRecord
from irbench.result import RunDocument
from irbench.stats.rederive import rederive
from irbench.store import encode_document, encode_launch
from irbench.store.folders import RUN_FILE, place_of
from irbench.store.ulid import new_ulid

_COUNTS, _FEWER = (1000, 10_000), (100,)
_VARIANTS = 40
_SCATTER = 0.02
_SAMPLES = 12
"""Of each round that are kept: a hundred thousand runs have to fit on a disk."""

_APART = timedelta(minutes=30)
_SECONDS, _MEGABYTES = Goal("own", "<", 5.0), Goal("own", "<", 300.0)
_GOALS_AT = 10_000


@dataclass(frozen=True)
class Variant:
    """A run as its files have it, whose figures follow from its samples."""

    document: RunDocument
    launches: Mapping[str, bytes]


def measure(bench: Workbench, counts: Sequence[int] = ()) -> Iterator[Finding]:
    """Look at stores of runs of one model; ``first`` finds neither an index nor summaries."""
    run = short_run(bench, matmul(bench.scratch, "fp32").path)
    for count in counts or (_FEWER if bench.quick else _COUNTS):
        root = bench.scratch / f"growth-{count}"
        oldest, newest = store_variants(root, variants(run, _VARIANTS), count)
        exported = bench.scratch / "exported.csv"
        calls: Mapping[str, Sequence[object]] = {
            "history, first": ("history",),
            "history": ("history",),
            "compare of two runs": ("compare", oldest, newest),
            "results": ("results",),
            "results export --all, csv": ("results", "export", "--all", "--force", "-o", exported),
        }
        for what, arguments in calls.items():
            call = partial(bench.irbench, *arguments, "--results", root, watch_memory=True)
            yield from _findings(f"{count} runs, {what}", call, bench, count if "first" not in what else 0)
        shutil.rmtree(root)


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


def _findings(what: str, call: Callable[[], Finished], bench: Workbench, count: int) -> Iterator[Finding]:
    """Yield the time and the memory of a call; ``count`` is 0 where there is no goal."""
    done = [call() for _ in range(bench.repeats(3) if count else 1)]
    seconds, peaks = tuple(item.seconds for item in done), tuple(item.peak_bytes / 1e6 for item in done)
    has_goal = count == _GOALS_AT
    yield Finding("growth", what, "s", seconds, goal=_SECONDS if has_goal else None)
    yield Finding("growth", f"{what}: memory", "MB", peaks, goal=_MEGABYTES if has_goal else None)


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
    """Measure how histories, comparisons, listings and exports grow with the number of stored runs."""
    with tempfile.TemporaryDirectory(prefix="irbench-growth-") as folder:
        findings = list(measure(Workbench(Path(folder), quick=False), counts))
    print_data(to_text(as_table(findings), to_file=False), None)


if __name__ == "__main__":
    main()
