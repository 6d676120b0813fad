"""Where a run is stored: in a folder of its own, or in that of a run that ended early and goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.api.own_cells import program_files
from irbench.errors import IrbenchError
from irbench.runner.continuation import GroupSoFar, asks_for_the_same, group_so_far
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, Program
from irbench.store import RunWriter, Store, default_root

__all__ = ["RunDestination", "files_digest"]


def _ignore(_run: str, _models: str) -> None: ...


@dataclass(frozen=True)
class RunDestination:
    """Where a run is stored.

    Attributes:
        results: The folder where runs are kept; ``None`` for the usual place.
        unfinished: The id of a run that ended early, which goes on where it asked for the same.
        models: The digest of the files that it measured, models and the user's own code; see :func:`files_digest`.
        begun: Called with the run's id and that digest when its folder is there, before anything is measured.
    """

    results: Path | None = None
    unfinished: str | None = None
    models: str = ""
    begun: Callable[[str, str], None] = _ignore

    def open(
        self, environment: Mapping[str, Any], request: RunRequest, groups: Sequence[PlannedGroup]
    ) -> tuple[RunWriter, GroupSoFar | None]:
        """Return the run, and what is known of the group that it was measuring when it ended early.

        Args:
            environment: The machine and its software.
            request: What is asked for.
            groups: What would be measured.

        Raises:
            IrbenchError: The folder cannot be made or written, or the disk is full.
        """
        store = Store(self.results or default_root())
        models = files_digest(request.bundles, request.programs.values())
        found = self._reopened(store, environment, request.as_plan(), groups) if models == self.models else None
        writer, so_far = found or (store.begin(environment, request.as_plan()), None)
        self.begun(writer.document.run_id, models)
        return writer, so_far

    def _reopened(
        self, store: Store, environment: Mapping[str, Any], plan: Mapping[str, Any], groups: Sequence[PlannedGroup]
    ) -> tuple[RunWriter, GroupSoFar | None] | None:
        """Return the run that ended early, if it can go on: where it is damaged or gone, another one begins."""
        if self.unfinished is None or plan["cold"]:
            return None
        try:
            folder = store.find(self.unfinished)
            document = store.load(folder)
            if not asks_for_the_same(document, plan, environment, groups):
                return None
            so_far = group_so_far(document, store.launches(folder))
            return store.reopen(folder, document), so_far
        except IrbenchError:
            return None


def files_digest(models: Iterable[Bundle], programs: Iterable[Program] = ()) -> str:
    """Return a digest of paths, sizes and times of change of models' files, and of the files of the user's own code."""
    of_models = [artifact.path for bundle in models for artifact in bundle.artifacts]
    of_programs = [path for program in programs for path in program_files(program)]
    states = [(str(path), (state := path.stat()).st_size, state.st_mtime_ns) for path in (*of_models, *of_programs)]
    return hashlib.sha256(repr(states).encode()).hexdigest()[:16]
