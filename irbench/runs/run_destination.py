"""Where a run is stored: in a folder of its own, or in that of a run that ended early and goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.requests.user_code import program_files, programs_of_limit
from irbench.runner.continuation import GroupSoFar, PlannedRun, changes_since, group_so_far
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec.training import TrainingArtifact
from irbench.store.folders import default_root
from irbench.store.runs import RunWriter, Store
from irbench.system import host
from irbench.system.file_states import digest
from irbench.worker.requested_confinement import is_confinement_asked_for


class Destination(Protocol):
    """Knows the folder in which a run is stored."""

    def open(
        self, environment: Mapping[str, Any], request: RunRequest, groups: Sequence[PlannedGroup]
    ) -> tuple[RunWriter, GroupSoFar | None]:
        """Return the run, and what is known of the group that it was measuring when it ended early."""
        ...


def _ignore(_run: str) -> None: ...


@dataclass(frozen=True)
class RunDestination:
    """A folder of the run's own, or that of a run which asked for the same and ended early.

    Attributes:
        results: The folder where runs are kept; ``None`` for the usual place.
        unfinished: The id of a run that ended early, which goes on where nothing has changed since.
        begun: Called with the run's id when its folder is there, before anything is measured.
    """

    results: Path | None = None
    unfinished: str | None = None
    begun: Callable[[str], None] = _ignore

    def open(
        self, environment: Mapping[str, Any], request: RunRequest, groups: Sequence[PlannedGroup]
    ) -> tuple[RunWriter, GroupSoFar | None]:
        """Return the run; see :class:`Destination`."""
        store = Store(self.results or default_root())
        planned = planned_run(environment, request, groups)
        reopened = self._reopened(store, planned)
        writer, so_far = reopened or (store.begin(environment, planned.plan, planned.files), None)
        self.begun(writer.document.run_id)
        return writer, so_far

    def _reopened(self, store: Store, planned: PlannedRun) -> tuple[RunWriter, GroupSoFar | None] | None:
        """Return the run that ended early, if it can go on: where it is damaged or gone, another one begins."""
        if self.unfinished is None or planned.plan.cold:
            return None
        try:
            folder = store.find(self.unfinished)
            document = store.load(folder)
            if document.complete or changes_since(document, planned):
                return None
            so_far = group_so_far(document, store.launches(folder))
            return store.reopen(folder, document), so_far
        except IrbenchError:
            return None


def planned_run(environment: Mapping[str, Any], request: RunRequest, groups: Sequence[PlannedGroup]) -> PlannedRun:
    """Return what would be measured, as it is compared with what a run was begun with; takes what ``open`` does."""
    return PlannedRun(request.as_plan(), environment, dict(_file_digests(request, groups)), groups)


def _file_digests(request: RunRequest, groups: Sequence[PlannedGroup]) -> Iterator[tuple[str, str]]:
    """Yield what each file is called with its digest: of models, of data at each batch, and of own code."""
    for bundle in request.bundles:
        for artifact in bundle.artifacts:
            if artifact.files is not None:
                yield f"{bundle.name} ({artifact.label})", artifact.files.sha256
            if isinstance(artifact, TrainingArtifact) and artifact.data.sha256:
                yield f"samples of {bundle.name}", artifact.data.sha256
    for workload in (workload for planned in groups for workload in planned.group.workloads):
        for name, sha256 in workload.feeding.sha256.items():
            yield f"data of {workload.bundle.name} batch {workload.batch}: {name}", sha256
    programs = (*request.asked.cells.values(), *programs_of_limit(request.accuracy))
    for path in dict.fromkeys(path for program in programs for path in program_files(program)):
        with contextlib.suppress(OSError):  # a program that may be run need not be readable
            yield str(path), digest(path)


def describe_environment() -> Mapping[str, Any]:
    """Return what a reader of results must know of this machine, its software, and the confinement of workers."""
    return {**host.describe(registry.distributions()), "confined": is_confinement_asked_for()}
