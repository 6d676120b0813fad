"""Measure cold starts: each launch a fresh process, alone, with its caches emptied or filled just before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path
from typing import TypeAlias, cast, get_args

from irbench.core import registry
from irbench.core.activity import Activity
from irbench.core.cold_row import CacheState, ColdLaunch, ColdRow, ColdTable
from irbench.core.result import RunDocument
from irbench.core.row import LaunchesStop
from irbench.measure.clock import Stopwatch, now_ns
from irbench.runner.plan import GraphRefused, PlannedGroup, with_other_graphs
from irbench.runner.request import RunRequest
from irbench.runner.rounds import CellOutcome, Rounds
from irbench.runner.rows_alone import leave_absent
from irbench.runner.run_progress import Listener
from irbench.runner.workers import CellFailed, Setting, checked, runnable_form, setting_of
from irbench.spec import Artifact, Cell, Group
from irbench.stats.run_modes.cold_start import derive_cold_table
from irbench.stats.workload_facts import given_inputs, table_of
from irbench.store.runs import RunWriter
from irbench.system import page_cache
from irbench.system.signals import signals_deferred
from irbench.worker.cold_start_host import FirstAnswer
from irbench.worker.model_files import read_external_files


def files_read(artifact: Artifact, seen: Iterable[str]) -> tuple[Path, ...]:
    """Return each file once."""
    paths = {path.resolve() for path in (*map(Path, seen), *_model_files(artifact))}
    return tuple(sorted(path for path in paths if path.is_file()))


def _model_files(artifact: Artifact) -> Iterator[Path]:
    path = artifact.path
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file())
        return
    yield path
    if artifact.kind == "onnx":
        yield from (path.parent / location for location in read_external_files(path))


_CACHE_VARIABLES = ("XDG_CACHE_HOME", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "TRITON_CACHE_DIR")
"""Environment variables that name the folder in which a runtime or a driver keeps what it compiled."""


def caches_in(folder: Path) -> dict[str, str]:
    """Return the environment variables of a process whose caches are in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return dict.fromkeys(_CACHE_VARIABLES, str(folder))


def with_caches_in(cell: Cell, folder: Path) -> Cell:
    """Return a cell whose options that name a folder of compiled code name this one."""
    keys = registry.describe(registry.BACKENDS, cell.backend).cache_folders
    folders = {key: str(folder) for key in keys if key in cell.load.options}
    return replace(cell, load=replace(cell.load, options={**cell.load.options, **folders}))


_CACHES = cast("tuple[CacheState, ...]", get_args(CacheState))


def run(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, writer: RunWriter, listen: Listener
) -> RunDocument:
    """Measure the cold starts of the planned groups and return the document, which is also in the store.

    An interrupt ends the run; every finished launch is in the document, whose last table says so.
    """
    writer.commit(replace(writer.document, tables_planned=len(groups)))
    watch, waiting, numbers = Stopwatch(), list(groups), count()
    while waiting:
        share = request.with_budget_for(1, len(waiting), watch.elapsed_s)
        planned = waiting.pop(0)
        try:
            table = _ColdMeasurement(planned, share, scratch / f"group-{next(numbers)}", writer, listen).run()
        except GraphRefused as refused:
            waiting = [with_other_graphs(planned, refused), *waiting]
            continue
        if table.stopped_by == "interrupt":
            return writer.document
    return writer.commit(replace(writer.document, complete=True))


@dataclass(kw_only=True)
class _ColdCell(CellOutcome):
    """A cell, its launches by the state of the caches, and the files that it reads when it starts.

    ``folder`` is for the caches of compiled code that its warm launches share.
    """

    folder: Path
    files: tuple[Path, ...] = ()
    file_bytes: int | None = None
    launches: dict[CacheState, list[ColdLaunch]] = field(
        default_factory=lambda: {cache: list[ColdLaunch]() for cache in _CACHES}
    )

    def as_row(self, cache: CacheState) -> ColdRow:
        """Return the row of a table, in one state of the caches."""
        launches = tuple(self.launches[cache])
        state = self.state if self.failure or launches else "interrupted"
        return self.row(ColdRow, state, cache=cache, file_bytes=self.file_bytes, launches=launches)


_Turn: TypeAlias = tuple[_ColdCell, CacheState]


class _ColdMeasurement:
    """Launches the cells of one table in rounds until there are enough, or the time is up."""

    def __init__(
        self, planned: PlannedGroup, request: RunRequest, scratch: Path, writer: RunWriter, listen: Listener
    ) -> None:
        self._planned = planned
        self._group: Group = planned.group
        self._request = request
        self._timing = request.timing
        self._scratch = scratch
        self._writer = writer
        self._before = writer.document
        self._rounds = Rounds(
            model=planned.group.main.bundle.name,
            most=request.timing.max_launches,
            budget_s=request.timing.budget,
            seed=f"cold/{request.seed}/{len(self._before.cold_starts)}",
            listen=listen,
            batch=planned.group.main.batch if len(request.batches or ()) > 1 else None,
        )
        self._candidates = [_ColdCell(cell, folder=scratch / f"warm-{cell.id}") for cell in planned.group.cells]
        self._setting: Setting | None = None

    def run(self) -> ColdTable:
        """Measure the table and return it; the store holds it too.

        Raises:
            GraphRefused: A cell needs the other form of its graph; nothing was measured.
        """
        leave_absent(self._candidates, self._planned.absent)
        try:
            self._rounds.say(Activity("expected-outputs"))
            self._setting = setting_of(self._planned, self._timing, self._writer.logs, self._scratch)
            for candidate in self._able:
                self._survey(candidate)
            return self._commit(self._rounds.run(self._turns, self._launch, lambda: self._commit("unfinished")))
        except KeyboardInterrupt:
            with signals_deferred():  # who interrupts once more must not lose what the first one kept
                return self._commit("interrupt")

    @property
    def _able(self) -> list[_ColdCell]:
        return [candidate for candidate in self._candidates if candidate.failure is None]

    def _survey(self, candidate: _ColdCell) -> None:
        """Start a cell once, untimed: verify its outputs, see which files it reads, and fill its caches."""
        assert self._setting is not None
        cell = with_caches_in(candidate.cell, candidate.folder)
        assert cell.artifact is not None
        self._rounds.say(Activity("cold-survey", cell.label))
        try:
            with self._setting.worker(cell, caches_in(candidate.folder)) as worker:
                worker.hold("irbench.worker.cold_start_host:ColdStartHost")
                worker.ask("import", "import_runtime")
                answer: FirstAnswer = worker.ask("compile", "answer", self._setting.expected.outputs is not None)
                candidate.effective = answer.prepared.effective
                candidate.output_error = checked(cell, answer.prepared, self._setting)
                candidate.files = files_read(cell.artifact, worker.ask("compile", "files"))
            candidate.file_bytes = sum(file.stat().st_size for file in candidate.files)
            candidate.state = "ok"
        except CellFailed as failed:
            if runnable_form(cell, failed, self._setting) is not None:
                raise GraphRefused(cell.id, failed.failure.message) from failed
            candidate.leave(failed.failure, failed.output_error)

    def _turns(self) -> list[_Turn]:
        return list(product(self._able, _CACHES))

    def _launch(self, turn: _Turn) -> None:
        candidate, cache = turn
        if candidate.failure is not None:  # it failed earlier in this round
            return
        self._rounds.say(Activity("cold-launch" if cache == "cold" else "warm-launch", candidate.cell.label))
        fresh = self._scratch / f"{candidate.cell.id}-{self._rounds.finished}"
        if cache == "cold":
            page_cache.drop(candidate.files)
        else:
            page_cache.read_in(candidate.files)
        resident = page_cache.residency(candidate.files).share
        folder = fresh if cache == "cold" else candidate.folder
        try:
            launch = self._timed(with_caches_in(candidate.cell, folder), folder, resident)
        except CellFailed as failed:
            candidate.leave(failed.failure, failed.output_error)
            return
        candidate.launches[cache].append(launch)

    def _timed(self, cell: Cell, folder: Path, resident_share: float | None) -> ColdLaunch:
        assert self._setting is not None
        with self._setting.worker(cell, caches_in(folder)) as worker:
            worker.hold("irbench.worker.cold_start_host:ColdStartHost")
            worker.ask("import", "import_runtime")
            answer: FirstAnswer = worker.ask("compile", "answer", False)
            whole_ns = now_ns() - worker.spawned_ns
        phases = {"start": answer.first_line_ns - worker.spawned_ns, **answer.phases_ns}
        launch = ColdLaunch(self._rounds.finished, phases, 0, resident_share, answer.read_bytes)
        return replace(launch, own_ns=max(0, whole_ns - launch.ready_ns))

    def _commit(self, stopped_by: LaunchesStop) -> ColdTable:
        """Derive the table again from the launches and put it into the store's document."""
        expected = None if self._setting is None else self._setting.expected
        raw = table_of(
            ColdTable,
            self._group.main,
            baseline=None,
            rounds=self._rounds.finished,
            preview=True,
            stopped_by=stopped_by,
            seconds=self._rounds.watch.elapsed_s,
            rows=tuple(candidate.as_row(cache) for cache in _CACHES for candidate in self._candidates),
            warnings=() if expected is None else expected.warnings,
            notes=self._planned.notes,
            given_inputs=given_inputs(self._group.main.feeding),
            verified_against=None if expected is None else expected.source,
        )
        table = derive_cold_table(
            raw, self._group.baseline, self._timing, allow_mixed=self._request.compares_all_precisions
        )
        self._writer.commit(replace(self._writer.document, cold_starts=(*self._before.cold_starts, table)))
        return table
