"""How soon ten thousand kept runs are listed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks.rows import Finding, Goal
from benchmarks.storing import short_run
from benchmarks.workbench import Workbench
from irbench.core.result import RunDocument
from irbench.measure.clock import utc_now
from irbench.store.folders import RUN_FILE, new_ulid, place_of
from irbench.store.run_document import encode_document

_RUNS, _FEWER_RUNS = 10_000, 300
_MODELS = 20
_APART = timedelta(hours=1)
_GOAL = Goal("own", "<", 0.5)


def measure(bench: Workbench) -> Iterator[Finding]:
    """List a store of ten thousand runs as whole processes, whose output goes into a file.

    ``cold`` finds no index beside the runs and makes it; the operating system has their files in memory in any case.
    """
    run, count = short_run(bench), _FEWER_RUNS if bench.quick else _RUNS
    root, empty = bench.scratch / "many", bench.scratch / "none"
    fill(root, run.document, count)
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
        own, nothing = (tuple(round_[key] for round_ in rounds) for key in (name, "empty"))
        what = f"{count} runs, {name}: irbench results{shown}"
        goal = None if name == "cold" else _GOAL
        yield Finding("list", what, "s", own, nothing, "an empty store", goal)
    shutil.rmtree(root)


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
        document = replace(template, run_id=new_ulid(created), created=created.isoformat(timespec="seconds"), groups=())
        data = encoded[number % _MODELS].replace(template.run_id.encode(), document.run_id.encode())
        yield document, data.replace(template.created.encode(), document.created.encode())


def fill(root: Path, template: RunDocument, count: int) -> None:
    """Write so many copies of a run below ``root``, without their launches, which no listing reads."""
    for document, data in copies(template, utc_now(), count):
        folder = place_of(root, document.created, document.run_id)
        folder.mkdir(parents=True)
        (folder / RUN_FILE).write_bytes(data)


def _encoded(template: RunDocument, model: str) -> bytes:
    return encode_document(replace(template, groups=tuple(replace(group, model=model) for group in template.groups)))


def _listed(bench: Workbench, root: Path, *filters: str) -> float:
    return bench.irbench("results", "--results", root, *filters).seconds
