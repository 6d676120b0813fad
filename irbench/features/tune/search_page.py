"""What a page shows of the search that a stored run holds or confirms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.core.quantities import plural
from irbench.core.result import SEARCH_RUN, RunDocument
from irbench.errors import IrbenchError
from irbench.features.tune.search_progress import searched_text
from irbench.pages.result import PageResult
from irbench.store.listing import find_run
from irbench.store.runs import load_document

if TYPE_CHECKING:
    from irbench.charts.figure import Figure


def search_of(root: Path, document: RunDocument, folder: Path) -> PageResult | None:
    """Return the search that a stored run holds or confirms, as a page shows it.

    ``None`` of a run without one, and where the run that holds it was removed.
    """
    confirmed = document.plan.search_run
    if confirmed:
        try:
            search_folder = find_run(root, confirmed)
            search = load_document(search_folder)
        except IrbenchError:
            return None
        return _page_of_search(search, search_folder, is_alone=True)
    is_search = document.plan.is_part_of == SEARCH_RUN
    return _page_of_search(document, folder, is_alone=False) if is_search else None


def _page_of_search(search: RunDocument, folder: Path, *, is_alone: bool) -> PageResult:
    table = search.groups[0]
    is_generation = any(row.generation for row in table.cells)
    searched_for = searched_text(table.objective, is_generation=is_generation, is_training=table.is_training)
    tried = sum(row.state not in ("not-measured", "interrupted") for row in table.cells)
    return PageResult(
        name=f"{table.model} tuned",
        question=f"run {search.run_id} holds the search",
        verdict=f"{plural(tried, 'setting')} tried for {searched_for}.",
        figures=partial(_figures_of_search, search, folder, is_alone=is_alone),
    )


def _figures_of_search(search: RunDocument, folder: Path, *, is_alone: bool) -> Iterator[Figure]:
    """Yield the charts; those that the page has with the search's own tables only where these are not in it."""
    from irbench.features.tune.charts import figures_of_search

    figures = figures_of_search(search, folder)
    return figures if is_alone else islice(figures, 1)
