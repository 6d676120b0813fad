"""``irbench.profile``: where the time of an inference goes, operator by operator."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from irbench.api.arguments import (
    given_path,
    refuse_loaded_models,
    require_form,
    require_rows,
    results_folder,
)
from irbench.api.display import Displayable, as_text
from irbench.api.progress import GuardedListener, ProgressOption, Reporter, reporting
from irbench.core.plain_text import plain
from irbench.errors import ExitCode, IrbenchError
from irbench.features.profile import profiled_launches as profiling
from irbench.features.profile.begin import begun_profile, with_capable_backends
from irbench.features.profile.class_counters import ClassCounters
from irbench.features.profile.counted import counted_profile
from irbench.features.profile.keywords import ProfileKeywords
from irbench.features.profile.options import PROFILE, ProfileSettings
from irbench.features.profile.profiled_launches import Keep, ProfilePlan, ProfileTask
from irbench.features.profile.record import ProfileCounters, ProfileDocument, decode_profile, encode_profile
from irbench.features.profile.report import By, ProfileReport
from irbench.features.profile.request import TOP, ProfileOptions, profile_options
from irbench.features.profile.rows import ProfileRow, profile_rows, rows_as_csv, rows_to_pandas
from irbench.features.profile.summary import derive_report
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import measuring
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.options.values import ReportWithRowsForm
from irbench.requests.instruments import with_cycles
from irbench.requests.resolve import require_models
from irbench.requests.run_requests import planned, refuse_contradictions, requested
from irbench.runner.progress import Listener
from irbench.runner.signals import signals_deferred
from irbench.runs.measurement import refuse_within_a_worker
from irbench.runs.results import Interrupted
from irbench.store import default_root
from irbench.store.files import read_bytes
from irbench.store.profiles import PROFILE_FILE, begin_profile, find_profile, profile_argument
from irbench.system import host
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from irbench.features.profile.view import ProfileView

_ENDED = ("interrupt", "failures")
"""Reasons of a profile to stop after which nothing is counted."""


class Profile(Displayable):
    """Where the time of an inference goes.

    Attributes:
        document: All that was recorded, as its file holds it.
        folder: Where it is stored; ``None`` where it was read from another file.

    Args:
        document: As above.
        folder: As above.
        file: Its file; ``None`` where it has none that could be shown again.
    """

    def __init__(self, document: ProfileDocument, folder: Path | None = None, file: Path | None = None) -> None:
        self.document = document
        self.folder = folder
        self._call = "" if file is None else f"irbench profile --show {profile_argument(file)}"

    @cached_property
    def report(self) -> ProfileReport:
        """All figures, derived from the document."""
        return derive_report(self.document)

    @property
    def id(self) -> str:
        """Its ULID."""
        return self.document.profile_id

    @property
    def counters(self) -> tuple[ClassCounters, ...]:
        """What counters saw of each class of work in each backend, and of its whole model; empty without counters."""
        return self.report.counters

    @property
    def interrupted(self) -> bool:
        """Whether it was ended by Ctrl-C or a request to end."""
        return self.document.stopped_by == "interrupt"

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench profile`` exits with."""
        failures = [cell.failure for cell in self.document.cells if cell.failure is not None]
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if any(failure.stage == "verify" for failure in failures):
            return ExitCode.DIFFERENT
        return ExitCode.FAILED_CELL if failures or _has_uncounted_cell(self.document.counters) else ExitCode.OK

    def rows(self, by: By = "class") -> tuple[ProfileRow, ...]:
        """Return a row for each part of an inference in each backend.

        Args:
            by: What parts are: classes of work, operator types, or groups of nodes.

        Raises:
            IrbenchError: There are no such parts.
        """
        require_rows(by, By)
        return profile_rows(self.document, self.report, by)

    def to_pandas(self, by: By = "class") -> pd.DataFrame:
        """Return the rows as a DataFrame.

        Raises:
            IrbenchError: pandas is not installed, or there are no such parts.
        """
        return rows_to_pandas(self.rows(by))

    def to_text(self, form: ReportWithRowsForm = "table", *, by: By = "class", top: int = TOP) -> str:
        """Return the profile as text: tables as people read them, the document as JSON, or rows as CSV.

        Args:
            form: Which of them.
            by: What rows of the tables are.
            top: How many rows a table of operators or nodes has at most.

        Raises:
            IrbenchError: There is no such form, or there are no such parts.
        """
        require_form(form, ReportWithRowsForm)
        require_rows(by, By)
        if form == "json":
            from irbench.render.json_text import without_control_characters

            return without_control_characters(encode_profile(self.document).decode())
        if form == "csv":
            return rows_as_csv(self.rows(by))
        view = self.view(by, top)
        return view.as_markdown() if form == "md" else as_text(view)

    def trace(self, output: str | PathLike[str]) -> None:
        """Write the timeline of one inference of each backend as a Chrome trace, which Perfetto opens.

        Raises:
            IrbenchError: The file cannot be written.
        """
        from irbench.features.profile.operator_trace import write_trace

        write_trace(self.document, given_path("output", output))

    def view(self, by: By = "class", top: int = TOP) -> ProfileView:
        """Return what ``irbench profile`` prints.

        Raises:
            IrbenchError: There are no such parts.
        """
        require_rows(by, By)
        from irbench.features.profile.view import ProfileView

        return ProfileView(self.document, self.report, by, top, self._call)

    def __repr__(self) -> str:
        """Return the profile's id, its model and its backends."""
        labels = ", ".join(cell.label for cell in self.document.cells)
        return plain(f"<Profile {self.id}: {self.document.model} on {labels}>")

    def __rich__(self) -> RenderableType:
        """Return the tables as ``irbench profile`` prints them; called by rich."""
        return self.view()


@names_keywords(PROFILE)
def profile(
    model: str | PathLike[str],
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[ProfileKeywords],
) -> Profile:
    """Say where the time of an inference goes on each backend, operator by operator.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: As :func:`irbench.run` takes it.
        options: What is compared and for how long, and those of a run that say what is profiled and how.

    Returns:
        The profile, which is stored.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    refuse_loaded_models((model,))
    own, shared = PROFILE.read(options)
    asked = profile_options(ProfileSettings(**own), RunOptions(models=(str(model),), **shared))
    with reporting(progress) as reporter:
        found = profile_with(asked, reporter)
    if found.interrupted:
        raise Interrupted(f"what was measured is stored: irbench.load_profile({found.id!r})", found)
    return found


def load_profile(name: str | PathLike[str] = "latest", *, results: str | PathLike[str] | None = None) -> Profile:
    """Return a stored profile.

    Args:
        name: Its id or the beginning of it, its file or folder, or ``"latest"``.
        results: The folder where results are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such profile, or it is damaged.
    """
    path = find_profile(results_folder(results), str(name))
    return Profile(decode_profile(read_bytes(path, follow=path.name != PROFILE_FILE), str(path)), path.parent, path)


def _has_uncounted_cell(counters: ProfileCounters | None) -> bool:
    """Whether every model of some cell failed to be counted, or its operators could not be cut out."""
    if counters is None:
        return False
    launched = [part for part in counters.parts if part.uncuttable is None]
    able = {part.cell for part in launched if part.failure is None or part.launches}
    return bool(counters.failures) or any(part.cell not in able for part in launched)


def profile_with(options: ProfileOptions, reporter: Reporter) -> Profile:
    """Profile what was asked for; an interrupt leaves the profile incomplete.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        BaseException: What the reporter's listener raised; it ended the profile as an interrupt does.
    """
    host.require_linux()
    refuse_within_a_worker()
    options.require_one_table()
    asked = options.asked
    refuse_contradictions(asked)
    request = requested(asked)
    request = replace(request, counting=with_cycles(request.counting))
    require_models(asked.models, everything=False, imports=asked.imports)
    name = ", ".join(Path(model).name for model in asked.models)
    if options.plan.budget_s != ProfilePlan.budget_s:
        request = replace(request, timing=request.timing.within_budget(options.plan.budget_s))
    with measuring(f"profile {name}", insist=asked.no_lock), scratch_folder() as folder:
        request, groups = planned(request, asked, folder, reporter.say, reporter.status)
        table = with_capable_backends(groups[0], were_named=bool(asked.backends))
        if not table.can_run:
            failure = next(iter(table.absent.values()))
            raise IrbenchError(f"Nothing can be profiled: {failure.message}.", hint=failure.hint or "")
        begun = begun_profile(options, request, table)
        writer = begin_profile(asked.results or default_root(), begun.created, begun.profile_id)
        writer.commit(encode_profile(begun))
        listener = GuardedListener(reporter.show)
        task = ProfileTask(request, table, options.plan, folder / "profile", writer.logs)
        found = _measured(task, begun, listener, lambda document: writer.commit(encode_profile(document)))
    if listener.error is not None:
        listener.error.add_note(f"Finished launches are stored: irbench.load_profile({found.profile_id!r})")
        raise listener.error
    return Profile(found, writer.folder, writer.folder / PROFILE_FILE)


def _measured(task: ProfileTask, begun: ProfileDocument, listen: Listener, keep: Keep) -> ProfileDocument:
    """Profile, and count where that is asked for; each may take half of the time then."""
    counting, plan = task.request.counting, task.plan
    if counting is None:
        return profiling.profile(task, begun, listen, keep)
    watch = Stopwatch()
    profiled = profiling.profile(replace(task, plan=replace(plan, budget_s=plan.budget_s / 2)), begun, listen, keep)
    if profiled.stopped_by in _ENDED:
        return profiled
    left_s = plan.budget_s - watch.elapsed_s
    launches = replace(counting, plan=replace(counting.plan, launches=plan.counted_launches))
    counted = replace(task, request=replace(task.request, counting=launches))
    counters = counted_profile(
        counted, profiled, left_s, listen, lambda counters: keep(replace(profiled, counters=counters))
    )
    is_interrupted = counters.stopped_by == "interrupt"
    found = replace(
        profiled,
        counters=counters,
        stopped_by="interrupt" if is_interrupted else profiled.stopped_by,
    )
    with signals_deferred():
        keep(found)
    return found
