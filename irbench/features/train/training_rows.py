"""The rows of a table of training steps: each combination of settings, or one half of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import cast

from irbench.core import registry
from irbench.core.quantities import listing
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.exporter.source import Source
from irbench.features.train.options import Compared, DesignSize, TrainingOptions
from irbench.notices.notes import StepsByThemselves
from irbench.runner.plan import PlannedGroup
from irbench.spec import BATCH, Bundle, Cell, Goal, GraphFiles, Group, Load, Objective, Workload
from irbench.spec.training import (
    LOAD_PRECISIONS,
    TRAINING,
    ModelFacts,
    TrainedModel,
    TrainingArtifact,
    TrainingData,
    TrainingSettings,
)
from irbench.stats.run_modes.factorial import half_of, undetermined
from irbench.stats.run_modes.training import BATCH_SETTING
from irbench.system.file_states import digest, is_file

GPU_THREAD_MODE, THREADS = "gpu_thread_mode", "threads"
_NATIVE = "native"
OBJECTIVES: Mapping[Compared, Objective] = {"samples/s": "fps", "cost": "cost"}
_OF_FLOAT_BYTES = 4


def settings_of(options: TrainingOptions, threads: Sequence[int | None]) -> dict[str, tuple[str, ...]]:
    """Return the values of each setting; ``threads`` are those of the process."""
    values: dict[str, tuple[str, ...]] = {
        BATCH_SETTING: tuple(map(str, options.batch)),
        "precision": options.precision,
        "xla": options.xla,
        "prefetch": options.prefetch,
        "cache": options.cache,
        "workers": options.workers,
        GPU_THREAD_MODE: options.gpu_thread_mode,
        THREADS: tuple(_NATIVE if count is None else str(count) for count in threads),
    }
    return {name: known for name, known in values.items() if known}


def combinations_of(
    options: TrainingOptions, threads: Sequence[int | None], design: DesignSize = "full"
) -> list[dict[str, str]]:
    """Return the settings of each row, in the order of the command line.

    Raises:
        IrbenchError: One half of the combinations says nothing of one of the settings.
    """
    settings = settings_of(options, threads)
    if design == "full":
        return [dict(zip(settings, values, strict=True)) for values in product(*settings.values())]
    half = half_of(settings)
    unknown = undetermined(half)
    if unknown:
        raise IrbenchError(
            f"One half of these combinations does not tell what {listing(unknown)} changes.",
            hint="Leave out --design half, or vary three settings or more.",
        )
    return half


class TrainingRows:
    """Makes the rows of one model.

    Args:
        options: Which settings are asked for.
        model: What is trained.
        facts: What is known of it.
        data: On what it is trained.
        threads: Of the process of each row.
        cpus: The processors that it may use.
        seed: Of weights and the order of samples.
        design: Whether all combinations of settings are rows.
    """

    def __init__(
        self,
        options: TrainingOptions,
        model: TrainedModel,
        facts: ModelFacts,
        data: TrainingData,
        *,
        threads: Sequence[int | None],
        cpus: tuple[int, ...] | None,
        seed: int,
        design: DesignSize = "full",
    ) -> None:
        self._design: DesignSize = design
        self._options, self._model, self._facts, self._data = options, model, facts, data
        self._threads, self._cpus, self._seed = threads, cpus, seed

    def group(self) -> PlannedGroup:
        """Return the table, whose baseline is the first row."""
        batches = self._options.batch
        bundle = self._bundle()
        cells = tuple(self._cell(row, batches) for row in combinations_of(self._options, self._threads, self._design))
        workloads = tuple(Workload(bundle, {BATCH: batch}) for batch in batches)
        group = Group(workloads, cells, cells[0].id, Goal(OBJECTIVES[self._options.objective]))
        several = self._facts.steps_per_execution
        return PlannedGroup(group, notes=(StepsByThemselves(steps=several),) if several > 1 else ())

    def _bundle(self) -> Bundle:
        plain = self._artifact(TrainingSettings())
        return Bundle(
            self._facts.name,
            (),
            (plain,),
            seed=self._seed,
            workload=TRAINING,
            source=Source(self._model.source).absolute,
        )

    def _cell(self, row: Mapping[str, str], batches: Sequence[int]) -> Cell:
        batch = int(row[BATCH_SETTING])
        varied = {name: value for name, value in row.items() if name != BATCH_SETTING and self._varies(name)}
        mode = row.get(GPU_THREAD_MODE)
        settings = TrainingSettings(**{key: value for key, value in row.items() if key not in _OF_THE_LOAD})  # type: ignore[arg-type]
        load = Load(
            batch=batch,
            threads=None if row[THREADS] == _NATIVE else int(row[THREADS]),
            precision=LOAD_PRECISIONS[settings.precision],
            cpus=self._cpus,
            options={} if mode is None else {GPU_THREAD_MODE: mode},
            varied=varied,
        )
        name = "-".join((registry.trainer(), self._options.device, f"b{batch}", *varied.values()))
        return Cell(
            name,
            self._artifact(settings),
            registry.trainer(),
            self._options.device,
            load,
            workload=batches.index(batch),
        )

    def _varies(self, name: str) -> bool:
        return len(settings_of(self._options, self._threads)[name]) > 1

    def _artifact(self, settings: TrainingSettings) -> TrainingArtifact:
        path = Path(self._model.source.rpartition(":")[0] or self._model.source)
        sha256 = digest(path) if is_file(path) else ""
        return TrainingArtifact(
            kind=TRAINING,
            path=path,
            inputs=(),
            outputs=(),
            files=GraphFiles(sha256, _OF_FLOAT_BYTES * self._facts.parameters),
            model=self._model,
            data=self._data,
            settings=settings,
            seed=self._seed,
        )


_OF_THE_LOAD = (BATCH_SETTING, GPU_THREAD_MODE, THREADS)


def training_of(cell: Cell) -> TrainingArtifact:
    """Return what a cell trains."""
    return cast("TrainingArtifact", cell.artifact)


def without(planned: PlannedGroup, failures: Mapping[str, Failure]) -> PlannedGroup:
    """Return a table of which some rows are not launched; its first row that is launched is the baseline."""
    absent = {**planned.absent, **failures}
    left = [cell.id for cell in planned.group.cells if cell.id not in absent]
    baseline = left[0] if left and planned.group.baseline in absent else planned.group.baseline
    group = Group(planned.group.workloads, planned.group.cells, baseline, planned.group.goal)
    return PlannedGroup(group, absent, planned.others, planned.notes)
