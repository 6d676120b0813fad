"""Stored runs with their samples, of which nothing is believed before it was checked."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from irbench import __version__
from irbench.core.plain_text import plain
from irbench.core.quantities import listing, plural
from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.core.row import CellResult
from irbench.errors import IrbenchError
from irbench.stats.rederive import rederive_speeds
from irbench.store.folders import RUN_FILE, UNSEARCHED_TEXTS, UnsearchedReason
from irbench.store.launch_files import decode_launch
from irbench.store.runs import load_document, read_launch


class NoFacts(msgspec.Struct, frozen=True):
    """No facts."""


class Error(msgspec.Struct, frozen=True):
    """What an error says."""

    message: str
    hint: str


class RunProblem(msgspec.Struct, frozen=True, tag_field="code"):
    """Why a run is left out, or used only in part.

    Attributes:
        run: The run's id, or the path where none is known.
    """

    run: str

    @property
    def code(self) -> str:
        """What it is called in documents."""
        return str(self.__struct_config__.tag)

    @property
    def hint(self) -> str:
        """What helps; empty where nothing is known to."""
        return ""

    def text(self) -> str:
        """Return it in a sentence."""
        raise NotImplementedError


class Unreadable(RunProblem, frozen=True, tag="unreadable"):
    """It is damaged, of a newer format, or was changed after it was stored."""

    facts: Error

    @property
    def hint(self) -> str:
        return self.facts.hint

    def text(self) -> str:
        return self.facts.message


class WithoutSamples(RunProblem, frozen=True, tag="without-samples"):
    """A document without the files that it was derived from."""

    facts: NoFacts = msgspec.field(default_factory=NoFacts)

    def text(self) -> str:
        return f"{self.run} is stored without its samples, and is not used."


class Altered(msgspec.Struct, frozen=True):
    """Rows whose figures were altered."""

    rows: tuple[str, ...]


class FiguresAltered(RunProblem, frozen=True, tag="figures-altered"):
    """Its figures do not follow from its samples."""

    facts: Altered

    def text(self) -> str:
        return (
            f"{self.run} is not used: the figures of {listing(self.facts.rows)} do not follow from its samples, so it"
            " was changed."
        )


class NoSpeeds(RunProblem, frozen=True, tag="no-speeds"):
    """A run of cold starts, a soak, or loads of requests."""

    facts: NoFacts = msgspec.field(default_factory=NoFacts)

    def text(self) -> str:
        return f"{self.run} measured cold starts, memory or loads and not speeds, and is not used."


class NotMeasured(RunProblem, frozen=True, tag="not-measured"):
    """No launch was finished."""

    facts: NoFacts = msgspec.field(default_factory=NoFacts)

    def text(self) -> str:
        return f"{self.run} has no launch, and is not used."


class Finished(msgspec.Struct, frozen=True):
    """How many launches were finished."""

    launches: int


class Incomplete(RunProblem, frozen=True, tag="incomplete"):
    """It ended early, and what is there is used."""

    facts: Finished

    def text(self) -> str:
        return f"{self.run} is incomplete: {plural(self.facts.launches, 'launch')} of it are used."


class Models(msgspec.Struct, frozen=True):
    """Names that several models of a run have."""

    models: tuple[str, ...]


class SameNames(RunProblem, frozen=True, tag="same-names"):
    """Rows of different models have one name, and are not used."""

    facts: Models

    def text(self) -> str:
        return (
            f"{self.run} has different models of the name {listing(self.facts.models)}, and rows of one name are not"
            " used."
        )


class Files(msgspec.Struct, frozen=True):
    """A model, and how many runs there are of each of its files."""

    model: str
    runs: Mapping[str, int]


class SeveralFiles(RunProblem, frozen=True, tag="several-files"):
    """A name of different files with different graphs, which are used."""

    facts: Files

    def text(self) -> str:
        files = ", ".join(f"{source} ({plural(count, 'run')})" for source, count in self.facts.runs.items())
        return (
            f"{self.facts.model} is the name of different files with different graphs, so this may be the history of"
            f" different models: {files}. Give each file a name of its own."
        )


class Why(msgspec.Struct, frozen=True):
    """Why a path was not searched."""

    reason: UnsearchedReason


class NotSearched(RunProblem, frozen=True, tag="unsearched"):
    """A link, a pipe or a closed folder among the runs; ``run`` is its path."""

    facts: Why

    def text(self) -> str:
        return f"{plain(self.run)} {UNSEARCHED_TEXTS[self.facts.reason]}"


_SAME = 1e-9
"""Figures are derived by the same functions from the same integers; only the order of sums may differ."""


@dataclass(frozen=True)
class CheckedRun:
    """One run."""

    folder: Path
    document: RunDocument
    records: tuple[LaunchRecord, ...]

    @property
    def run_id(self) -> str:
        """The run's ULID."""
        return self.document.run_id


def read_run(folder: Path) -> tuple[CheckedRun | None, tuple[RunProblem, ...]]:
    """Return a run with its samples, and everything that is wrong with it.

    Every launch's file is compared with its checksum, and the figures of every row with those that follow from the
    samples: a run that was changed after it was stored is not used.
    """
    document, unreadable = _document(folder)
    if document is None:
        return None, unreadable
    if document.cold_starts or document.soaks or document.serving:
        return None, (NoSpeeds(document.run_id),)
    if document.launches and not any(os.path.lexists(folder / name) for name in document.launches):
        return None, (WithoutSamples(document.run_id),)
    records, damaged = _records(folder, document)
    if damaged:
        return None, damaged
    altered = _altered_rows(document, records)
    if altered:
        return None, (FiguresAltered(document.run_id, Altered(tuple(altered))),)
    if not records:
        return None, (NotMeasured(document.run_id),)
    incomplete = () if document.complete else (Incomplete(document.run_id, Finished(len(records))),)
    return CheckedRun(folder, document, records), incomplete


def read_document(folder: Path) -> tuple[RunDocument | None, tuple[RunProblem, ...]]:
    """Return the document of a run, whose files are compared with their checksums all the same."""
    document, unreadable = _document(folder)
    if document is None:
        return None, unreadable
    damaged = tuple(problem for name in sorted(document.launches) for problem in _changed(folder, name, document))
    return (None, damaged) if damaged else (document, ())


def _document(folder: Path) -> tuple[RunDocument | None, tuple[RunProblem, ...]]:
    try:
        return load_document(folder), ()
    except IrbenchError as error:
        return None, (_unreadable(str(folder / RUN_FILE), error),)


def _records(folder: Path, document: RunDocument) -> tuple[tuple[LaunchRecord, ...], tuple[RunProblem, ...]]:
    records: list[LaunchRecord] = []
    problems: list[RunProblem] = []
    for name in sorted(document.launches):
        try:
            records.append(decode_launch(read_launch(folder, name, document), str(folder / name)))
        except IrbenchError as error:
            problems.append(_unreadable(document.run_id, error))
    return tuple(records), tuple(problems)


def _changed(folder: Path, name: str, document: RunDocument) -> tuple[RunProblem, ...]:
    try:
        read_launch(folder, name, document)
    except IrbenchError as error:
        return (_unreadable(document.run_id, error),)
    return ()


def _unreadable(run: str, error: IrbenchError) -> RunProblem:
    return Unreadable(run, Error(error.message, error.hint))


def _altered_rows(document: RunDocument, records: tuple[LaunchRecord, ...]) -> tuple[str, ...]:
    """Return the rows whose figures do not follow from the samples, by their labels.

    Another version of irbench may have derived them in another way, which says nothing against them.
    """
    if document.irbench_version != __version__:
        return ()
    try:
        again = rederive_speeds(document, records)
    except IrbenchError:  # a table of an older irbench does not say what it was derived from
        return ()
    return tuple(
        row.label
        for table, derived in zip(document.groups, again, strict=True)
        for row in table.cells
        if row.id not in derived or not all(map(_same, _speeds(row), derived[row.id]))
    )


def _speeds(row: CellResult) -> tuple[float | None, float | None]:
    return row.latency_ms.p50 if row.latency_ms is not None else None, row.fps


def _same(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is after
    return math.isclose(before, after, rel_tol=_SAME)
