"""Raw samples as lines of text."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from irbench.core.record import CellLaunch, LaunchRecord, Sustained
from irbench.core.result import RunDocument
from irbench.core.row import row_names
from irbench.errors import IrbenchError
from irbench.render.text_formats import csv_cells
from irbench.stats.observed import Blocks, sort_blocks
from irbench.stats.rederive import blocks_in_table, planned_timing
from irbench.store.folders import removal_of

SAMPLE_FORMATS = ("csv", "jsonl")


class SampleLine(NamedTuple):
    """One sample, with all that tells it apart from the others of its run.

    Attributes:
        run_id: The run's ULID.
        group: Number of the table in its run.
        model: The table's model.
        batch: Samples of the model in each inference.
        row: What the table calls the cell.
        cell: Its id.
        launch: Number of the launch in its table.
        kind: ``round`` for interleaved calls, which are compared, ``tail`` for the uninterrupted ones of ``--tail``,
            ``paced`` for those of ``--pace``, ``sustained`` for the sum over a cell's run alone.
        block: Number of the block in its launch; ``None`` for all but rounds.
        disturbed: Whether something outside disturbed the block.
        counts: Whether figures are derived from it.
        sample: Its place in its round, tail or launch, counted from 0.
        issue_ns: When it was issued, from the opening of its round's timed window; of a paced one, from when the first
            was due.
        completion_ns: When it completed.
        latency_ns: Issue to completion.
        calls: How many calls it lasted.
    """

    run_id: str
    group: int
    model: str
    batch: int
    row: str
    cell: str
    launch: int
    kind: str
    block: int | None
    disturbed: bool | None
    counts: bool
    sample: int
    issue_ns: int | None
    completion_ns: int | None
    latency_ns: int | None
    calls: int


def samples_of(document: RunDocument, launches: Iterable[LaunchRecord], folder: Path) -> Iterator[SampleLine]:
    """Yield every sample of a run."""
    try:
        yield from _samples_of(document, launches)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # msgspec's are ValueErrors too
        raise IrbenchError(
            f"The samples of run {document.run_id} do not match its document: {error}.",
            hint=f"Restore the run from a copy, or delete it: {removal_of(folder)}",
        ) from error


def write_samples(samples: Iterable[SampleLine], form: str, target: TextIO) -> None:
    """Write samples as they come.

    Args:
        samples: What to write.
        form: ``csv`` (the names first; empty where nothing was measured, booleans as 0 and 1) or ``jsonl``.
        target: Where to.
    """
    if form == "jsonl":
        target.writelines(json.dumps(sample._asdict()) + "\n" for sample in samples)
        return
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(SampleLine._fields)
    writer.writerows(map(_plain, samples))


def _samples_of(document: RunDocument, launches: Iterable[LaunchRecord]) -> Iterator[SampleLine]:
    timing = planned_timing(document.plan)
    for record in launches:
        table = document.groups[record.group]
        names = row_names(table.cells)
        facts_of = {row.id: (document.run_id, record.group, row.model or table.model, row.batch) for row in table.cells}
        sorted_blocks = sort_blocks(record, timing)
        for cell in record.cells:
            blocks = blocks_in_table(record, sorted_blocks, table, cell.cell)
            whose = (names.get(cell.cell, cell.cell), cell.cell, record.launch)
            samples = (*_rounds(cell, blocks), *_tail(cell), *_paced(cell))
            yield from (SampleLine(*facts_of[cell.cell], *whose, *facts) for facts in samples)
        for alone in record.sustained:
            whose = (names.get(alone.cell, alone.cell), alone.cell, record.launch)
            yield SampleLine(*facts_of[alone.cell], *whose, *_sustained(alone))


def _rounds(cell_launch: CellLaunch, blocks: Blocks) -> Iterator[tuple[Any, ...]]:
    for round_ in cell_launch.rounds:
        block = ("round", round_.block, round_.block in blocks.dirty, round_.block in blocks.counted)
        series = (round_.issue_ns.tolist(), round_.completion_ns.tolist(), round_.latency_ns.tolist())
        for sample, times in enumerate(zip(*series, strict=True)):
            yield (*block, sample, *times, cell_launch.calls_per_sample)


def _tail(cell_launch: CellLaunch) -> Iterator[tuple[Any, ...]]:
    for sample, latency_ns in enumerate(cell_launch.tail_ns.tolist()):
        yield ("tail", None, None, True, sample, None, None, latency_ns, 1)


def _paced(cell_launch: CellLaunch) -> Iterator[tuple[Any, ...]]:
    run = cell_launch.paced
    for sample, times in enumerate(zip(run.issue_ns.tolist(), run.completion_ns.tolist(), strict=True) if run else ()):
        issue_ns, completion_ns = times
        yield ("paced", None, None, True, sample, issue_ns, completion_ns, completion_ns - issue_ns, 1)


def _sustained(sustained: Sustained) -> tuple[Any, ...]:
    return ("sustained", None, None, True, 0, 0, sustained.wall_ns, None, sustained.completions)


def _plain(sample: SampleLine) -> tuple[Any, ...]:
    return csv_cells(int(value) if isinstance(value, bool) else value for value in sample)
