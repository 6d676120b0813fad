"""What it costs to keep a run, and how soon ten thousand kept ones are listed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks.rows import Finding, Goal
from benchmarks.workbench import Workbench
from irbench.measure.clock import Stopwatch, utc_now
from irbench.record import LaunchRecord
from irbench.result import RunDocument
from irbench.store import Store, encode_document, encode_launch
from irbench.store.folders import RUN_FILE, place_of
from irbench.store.ulid import new_ulid

__all__ = ["Stored", "copies", "measure_listing", "measure_storing", "raw_bytes"]

_RUNS, _FEWER_RUNS = 10_000, 300
_MODELS = 20
_APART = timedelta(hours=1)
_LAUNCHES = 20
_INT64_BYTES = 8
_GOAL = Goal("own", "<", 0.5)


@dataclass(frozen=True)
class Stored:
    """A run as the store gives it back."""

    document: RunDocument
    launches: tuple[LaunchRecord, ...]


def measure_storing(bench: Workbench) -> Iterator[Finding]:
    """Encode and commit the launches of a short run again and again, each on the disk before the next."""
    run = _short_run(bench)
    size = len(run.launches)
    raw = tuple(float(raw_bytes(one)) for one in run.launches)
    kept = tuple(float(len(encode_launch(one))) for one in run.launches)
    yield Finding("store", "bytes of a launch", "B", kept, raw, "its samples as int64", remark="three-launch run")
    store = Store(bench.scratch / "stored")
    writer = store.begin(run.document.environment, run.document.plan)
    document = replace(run.document, run_id=writer.document.run_id, created=writer.document.created)
    taken: list[float] = []
    for number in range(bench.repeats(_LAUNCHES)):
        watch = Stopwatch()
        writer.add_launch(replace(run.launches[number % size], launch=number))
        writer.commit(document)
        taken.append(watch.elapsed_s * 1e3)
    yield Finding("store", "committing a launch", "ms", tuple(taken), remark="flushed to the temporary folder's disk")


def measure_listing(bench: Workbench) -> Iterator[Finding]:
    """List a store of ten thousand runs as whole processes, whose output goes into a file.

    ``cold`` finds no index beside the runs and makes it; the operating system has their files in memory in any case.
    """
    run, count = _short_run(bench), _FEWER_RUNS if bench.quick else _RUNS
    root, empty = bench.scratch / "many", bench.scratch / "none"
    _fill(root, run.document, count)
    filters = ("--model", f"{run.document.groups[0].model}-7", "--since", "7d", "--limit", "20")
    commands: Mapping[str, Callable[[], float]] = {
        "cold": partial(_listed, bench, root),
        "warm": partial(_listed, bench, root),
        "filtered": partial(_listed, bench, root, *filters),
        "empty": partial(_listed, bench, empty),
    }
    rounds: list[dict[str, float]] = []
    for _ in range(bench.repeats(5)):
        for index in root.glob("index.sqlite*"):
            index.unlink()
        rounds.append({name: list_runs() for name, list_runs in commands.items()})
    for name, shown in (("cold", ""), ("warm", ""), ("filtered", f" {' '.join(filters)}")):
        own, nothing = (tuple(one[key] for one in rounds) for key in (name, "empty"))
        what = f"{count} runs, {name}: irbench results{shown}"
        goal = None if name == "cold" else _GOAL
        yield Finding("list", what, "s", own, nothing, "an empty store", goal)
    shutil.rmtree(root)


def raw_bytes(record: LaunchRecord) -> int:
    """Return the size of a launch's samples, issue and completion of each, as plain int64."""
    samples = sum(one.issue_ns.size + one.completion_ns.size for cell in record.cells for one in cell.rounds)
    return _INT64_BYTES * (samples + sum(cell.tail_ns.size for cell in record.cells))


def copies(template: RunDocument, newest: datetime, count: int) -> Iterator[tuple[RunDocument, bytes]]:
    """Yield runs like a template, an hour apart, the newest first, each with its own id and one of twenty models.

    Args:
        template: A run of one table.
        newest: When the first was created.
        count: How many.

    Yields:
        The document without its tables, and the bytes of the whole one.
    """
    model = template.groups[0].model
    encoded = [_encoded(template, f"{model}-{number}") for number in range(_MODELS)]
    for number in range(count):
        created = newest - number * _APART
        one = replace(template, run_id=new_ulid(created), created=created.isoformat(timespec="seconds"), groups=())
        data = encoded[number % _MODELS].replace(template.run_id.encode(), one.run_id.encode())
        yield one, data.replace(template.created.encode(), one.created.encode())


def _encoded(template: RunDocument, model: str) -> bytes:
    return encode_document(replace(template, groups=tuple(replace(one, model=model) for one in template.groups)))


def _fill(root: Path, template: RunDocument, count: int) -> None:
    for document, data in copies(template, utc_now(), count):
        folder = place_of(root, document.created, document.run_id)
        folder.mkdir(parents=True)
        (folder / RUN_FILE).write_bytes(data)


def _listed(bench: Workbench, root: Path, *filters: str) -> float:
    return bench.irbench("results", "--results", root, *filters).seconds


def _short_run(bench: Workbench) -> Stored:
    root = bench.scratch / "short"
    if not root.exists():
        bench.irbench("run", bench.bundle, "--backends", "ort,openvino", "--quick", "--results", root)
    store = Store(root)
    folder = store.find("latest")
    return Stored(store.load(folder), tuple(store.launches(folder)))
