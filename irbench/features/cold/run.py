"""Measure cold starts: each launch a fresh process, alone, with its caches emptied or filled just before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TypeAlias, cast, get_args

from irbench.core import registry
from irbench.core.activity import Activity
from irbench.core.cold_row import CacheState, ColdLaunch, ColdRow, ColdTable
from irbench.core.row import LaunchesStop
from irbench.measure.clock import now_ns
from irbench.runner.plan import GraphRefused
from irbench.runner.rounds import CellOutcome
from irbench.runner.rows_alone import leave_absent
from irbench.runner.workers import CellFailed, Setting, checked, runnable_form, setting_of
from irbench.runs.mode_tables import ModeTable, TableTask
from irbench.spec import Artifact, Cell
from irbench.stats.run_modes.cold_start import derive_cold_table
from irbench.stats.workload_facts import given_inputs, table_of
from irbench.system import page_cache
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


class ColdStarts(ModeTable[ColdTable]):
    """Launches the cells of one table in rounds until there are enough, or the time is up."""

    def __init__(self, task: TableTask) -> None:
        super().__init__(task)
        timing = task.request.timing
        self._group = task.planned.group
        self._rounds = task.rounds(timing.max_launches, timing.budget)
        self._candidates = [_ColdCell(cell, folder=task.scratch / f"warm-{cell.id}") for cell in self._group.cells]
        self._setting: Setting | None = None

    def measure(self) -> LaunchesStop:
        """Start each cell once untimed, then launch them in rounds."""
        task = self.task
        leave_absent(self._candidates, task.planned.absent)
        self._rounds.say(Activity("expected-outputs"))
        self._setting = setting_of(task.planned, task.request.timing, task.writer.logs, task.scratch)
        for candidate in self._able:
            self._survey(candidate)
        return self._rounds.run(self._turns, self._launch, lambda: self.commit("unfinished"))

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
        fresh = self.task.scratch / f"{candidate.cell.id}-{self._rounds.finished}"
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

    def table(self, stopped_by: LaunchesStop) -> ColdTable:
        """Return the table, derived from the launches so far."""
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
            notes=self.task.planned.notes,
            given_inputs=given_inputs(self._group.main.feeding),
            verified_against=None if expected is None else expected.source,
        )
        request = self.task.request
        return derive_cold_table(raw, self._group.baseline, request.timing, allow_mixed=request.compares_all_precisions)
