"""What a run can measure beside speeds: each mode is declared by its feature, and imported when a run asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from irbench import features

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from irbench.charts.figure import Figure
    from irbench.core.result import RunDocument
    from irbench.render.views import PlainView
    from irbench.runner.plan import PlannedGroup
    from irbench.runner.request import RunRequest
    from irbench.runner.run_progress import Listener
    from irbench.store.runs import RunWriter

    Measure: TypeAlias = Callable[[RunRequest, Sequence[PlannedGroup], Path, RunWriter, Listener], RunDocument]

TableField: TypeAlias = Literal["cold_starts", "soaks", "serving", "counters", "step_traces"]
"""The fields of :class:`~irbench.core.result.RunDocument` that hold tables of modes."""


class RunMode(NamedTuple):
    """A mode of a run, which the ``__init__`` of a feature declares as ``RUN_MODE``.

    Attributes:
        asked_by: The field of :class:`~irbench.runner.request.RunRequest` that asks for it.
        tables: The field of the document that has its tables.
        measure: The module and the class of the feature that measures a table, ``"run.ColdStarts"``: a
            :class:`~irbench.runs.mode_tables.ModeTable`.
        views: The module and the function of the feature that shows a table; see :class:`Views`.
        follows_speeds: Whether it is measured after the speeds; otherwise in place of them.
        figures: The module and the function of the feature that makes the charts of a table; empty for none; see
            :class:`Figures`.
    """

    asked_by: Literal["asked.cold", "soak", "serving", "counting", "traced_steps"]
    tables: TableField
    measure: str
    views: str
    follows_speeds: bool = False
    figures: str = ""


class Views(Protocol):
    """Returns what a person sees of a table of the mode."""

    def __call__(self, table: Any, document: RunDocument) -> Iterable[PlainView]:
        """Return the views of a table of a document, in order."""
        ...


class Figures(Protocol):
    """Yields the charts of a table of the mode that have something to show."""

    def __call__(self, table: Any, number: int) -> Iterator[Figure]:
        """Yield the charts of a table; ``number`` is unique in the page, for the keys of its rows."""
        ...


def mode_asked_for(request: RunRequest, *, follows_speeds: bool) -> Measure | None:
    """Return what measures the mode that is asked for in place of speeds, or after them; ``None`` without one."""
    from irbench.runs.mode_tables import measure_tables

    for package, mode in _modes():
        if mode.follows_speeds == follows_speeds and attrgetter(mode.asked_by)(request):
            return partial(measure_tables, _named(package, mode.measure), mode.tables)
    return None


def mode_views(document: RunDocument) -> Iterator[PlainView]:
    """Yield the views of a run's tables that are not of speeds: cold starts, counters, traces, soaks and loads."""
    for package, mode in _modes():
        for table in getattr(document, mode.tables):
            views: Views = _named(package, mode.views)
            yield from views(table, document)


def mode_figures(document: RunDocument, place: int, number: int) -> Iterator[Figure]:
    """Yield the charts of a table that is not of speeds: of the one at ``place`` in all tables of the run."""
    chosen = document.tables[place]
    for package, mode in _modes():
        if mode.figures and any(table is chosen for table in getattr(document, mode.tables)):
            figures: Figures = _named(package, mode.figures)
            yield from figures(chosen, number)


@cache
def _modes() -> tuple[tuple[str, RunMode], ...]:
    return tuple(features.declared("RUN_MODE"))


def _named(package: str, name: str) -> Any:
    module, _, attribute = name.partition(".")
    return getattr(import_module(f"{package}.{module}"), attribute)
