"""A page made of runs: its words, its tables and its charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

from irbench.api.display import as_text
from irbench.charts.drawing import can_draw
from irbench.charts.records import chart_rows
from irbench.core.plain_text import plain, plain_lines
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult
from irbench.errors import IrbenchError
from irbench.features.report.contents import NoProgram, Programs, RowProgram
from irbench.pages.html import WITHOUT_SAMPLES, drawn_figures, entry_of, grid_of, headings_of, page_of, page_row
from irbench.pages.result import PageResult
from irbench.pages.values import Page, PageCode, PageEntry, PageFigures, PageGrid, PageSection
from irbench.render.columns.declaration import RowSource
from irbench.render.footer import footer, incomplete, mismatches, not_applicable, shown_warnings, whole_warnings
from irbench.render.neighbour_texts import slowdown_matrix
from irbench.render.plain_answer import is_of_ratio, plain_details, plain_headline, recommendation
from irbench.render.speed_table import context_of, group_table, headline, without_roofline
from irbench.render.stage_table import stage_sentences
from irbench.render.table_title import command_text, origin_lines, title
from irbench.render.tables_below import tables_below
from irbench.render.wide_table import wide_table
from irbench.runs.run_modes import mode_figures, mode_views
from irbench.runs.run_view import ALL_ROWS, rows_of_all_shapes
from irbench.runs.stored_rows import deploy_command
from irbench.store.folders import is_in_store, results_option, root_of
from irbench.store.runs import read_launches

_NO_PROGRAM: Mapping[NoProgram, str] = {
    "data": "a page is made without reading the data that its run was given",
    "own-code": "its run names code of its author, which no page looks at",
    "graph": "its graph is not stored here as it was measured",
    "unknown": "it cannot be written from what is stored here",
}
_ANSWERS = ("slowdowns", "speedups")
"""Charts of what a table compares."""


def page_of_runs(
    runs: Sequence[tuple[RunDocument, Path]],
    results: Sequence[PageResult] = (),
    searches: Sequence[PageResult] = (),
    programs: Programs | None = None,
    *,
    draws: bool = True,
) -> Page:
    """Return the page of runs, each with the folder where its raw samples are.

    Other results stand before them, searches that they hold or confirm after them. A page of one table is titled by
    its answer. ``programs`` follow the recommendations. Runs have no charts unless it ``draws``.
    """
    with_charts = draws and can_draw()
    names = _names([document for document, _ in runs])
    before, after = (
        [entry_of(result, f"{key}{number}") for number, result in enumerate(one_kind)]
        for key, one_kind in (("result", results), ("search", searches))
    )
    shown = [
        replace(_run(*run, place, programs or {}, draws=with_charts), name=names[place])
        for place, run in enumerate(runs)
    ]
    is_answer = not before and len(shown) == 1 and len(shown[0].sections) == 1
    title = shown[0].sections[0].verdict if is_answer else ""
    return page_of((*before, *shown, *after), lacks_charts=draws and not with_charts, title=title)


def _run(document: RunDocument, folder: Path, number: int, programs: Programs, *, draws: bool) -> PageEntry:
    key = f"run{number}"
    launches, problem = _launches(document, folder) if draws else (None, "")
    sections = []
    for place in range(len(document.groups)):
        section = _table(document, place, f"{key}t{place}", number * 1000 + place)
        if (program := programs.get((document.run_id, place))) is not None:
            section = replace(section, summary=(*section.summary, *_program(program, folder)))
        sections.append(_with_figures(section, document, place, number * 1000 + place, launches) if draws else section)
    slowdowns = list(_slowdowns(document, f"{key}-slowdowns"))
    sections[:0] = slowdowns or _all_shapes(document, f"{key}-shapes", draws=draws)
    texts = tuple(PageCode(as_text(view)) for view in mode_views(document))
    if texts:
        charts = _mode_charts(document, f"{key}-texts", number * 1000) if draws else ()
        sections.append(PageSection(f"{key}-texts", "", "", (*texts, *charts)))
    command = command_text(document)
    facts = [line for line in origin_lines(document) if line != command]
    if problem:
        facts.append(WITHOUT_SAMPLES.format(problem))
    return PageEntry(
        key=key,
        name=_name(document),
        sections=tuple(sections) or (PageSection(f"{key}-none", "", "The run holds no table.", ()),),
        facts=tuple(("" if place else "Run", plain(fact)) for place, fact in enumerate(facts)),
        commands=(("Repeat it", plain(command)),) if command else (),
        note=plain(document.plan.note),
        incomplete=plain(incomplete(document)),
    )


def _launches(document: RunDocument, folder: Path) -> tuple[list[Any] | None, str]:
    """Return the raw samples of a run, and why there are none."""
    if not document.groups:
        return None, ""
    try:
        return list(read_launches(folder, document)), ""
    except IrbenchError as error:
        return None, error.message


def _table(document: RunDocument, place: int, key: str, number: int) -> PageSection:
    result = without_roofline(document.groups[place])
    context = context_of(result, document.environment, document.plan)
    rows = chart_rows(result, number)
    confidence = document.plan.confidence
    shown = group_table(result, confidence, whole_reasons=True)
    answer, whole = plain(plain_headline(result)), plain(headline(result, context))
    notes = chain(
        () if result.is_training else stage_sentences(result),
        footer(result, context),
        mismatches(result, context),
        not_applicable(result, context),
    )
    grid = PageGrid(
        key=key,
        headings=headings_of(shown),
        rows=tuple(
            page_row(row, len(shown.columns), chart_row.key, _state(chart_row.result))
            for chart_row, row in zip(rows, shown.rows, strict=True)
        ),
        notes=tuple(map(plain, notes)),
        is_filtered=True,
    )
    return PageSection(
        key=key,
        question=plain(title(result, document.environment, document.plan)),
        verdict=answer or whole or "No row is compared.",
        precision=(*map(plain, plain_details(result, confidence)), *(() if is_of_ratio(result) else (whole,)))
        if answer
        else (),
        summary=tuple(map(plain, recommendation(result))),
        parts=(grid, *_below(result, key, confidence)),
        warnings=tuple(text.removeprefix("warning: ") for text in whole_warnings(shown_warnings(result), context)),
    )


def _program(program: RowProgram, folder: Path) -> Iterator[str | PageCode]:
    """Yield the program of a row, and the command that writes it with its graph; or why there is none, in a sentence.

    Pages are passed on, so FOLDER stands for where the run is stored, unless commands find it without.
    """
    row = program.row
    run, results = program.row.document.run_id, ""
    if not is_in_store(folder):
        run = "FOLDER"
    elif results_option(root_of(folder)):
        results = " --results FOLDER"
    where = " (FOLDER is where the run is stored)" if (run, results) != (row.document.run_id, "") else ""
    if program.missing is not None:
        command = plain(f"irbench show {quote(run)} --code {quote(row.name)}{results}")
        why = _NO_PROGRAM[program.missing]
        yield f"The program of {plain(row.name)} is not on this page, because {why}: {command}{where}"
        return
    fastest = ", which looks fastest" if row.choice == "fastest" else ""
    yield PageCode(plain_lines(program.text), f"The program of {plain(row.name)}{fastest}, without irbench")
    yield f"With its graph and a check: {plain(deploy_command(run, row.name, results))}{where}"


def _below(result: GroupResult, key: str, confidence: float) -> Iterator[PageGrid]:
    """Yield the parts of training steps and the effects of settings; stages of pipelines are sentences."""
    for place, table in enumerate(tables_below(result, confidence) if result.is_training else ()):
        yield grid_of(table, f"{key}-below-{place}")


def _slowdowns(document: RunDocument, key: str) -> Iterator[PageSection]:
    """Yield the slowdowns of all tables of a co-run, which come first: they are its answer."""
    if (matrix := slowdown_matrix(document.groups, document.plan.confidence)) is not None:
        yield PageSection(key, matrix.title, plain(matrix.headline), (grid_of(matrix.table, f"{key}-grid"),))


def _all_shapes(document: RunDocument, key: str, *, draws: bool) -> Iterator[PageSection]:
    """Yield the rows of all tables where a model has tables of several shapes, which come before them."""
    if sources := rows_of_all_shapes(document):
        drawn = _drawn_shapes(sources, key) if draws else ()
        yield PageSection(key, ALL_ROWS.capitalize(), "", (*drawn, grid_of(wide_table(sources), f"{key}-grid")))


def _drawn_shapes(sources: Sequence[RowSource], key: str) -> Iterator[PageFigures]:
    from irbench.charts.tables import figures_of_shapes

    if drawn := tuple(drawn_figures(figures_of_shapes(sources), key)):
        yield PageFigures(drawn)


def _with_figures(
    section: PageSection, document: RunDocument, place: int, number: int, launches: Sequence[Any] | None
) -> PageSection:
    """Return a table with its charts: that of what it compares in the summary, all others in the details."""
    from irbench.charts.tables import figures_of_table

    rows = chart_rows(document.groups[place], number)
    figures = list(figures_of_table(document, place, rows, launches))
    answers, others = figures[:1], figures[1:]
    if answers and answers[0].name not in _ANSWERS:
        answers, others = [], figures
    above, below = (
        (PageFigures(drawn),) if (drawn := tuple(drawn_figures(part, section.key))) else ()
        for part in (answers, others)
    )
    return replace(section, summary=(*above, *section.summary), parts=(*section.parts, *below))


def _mode_charts(document: RunDocument, key: str, number: int) -> Iterator[PageFigures]:
    """Yield the charts of each table that is not of speeds."""
    for place in range(len(document.groups), len(document.tables)):
        figures = mode_figures(document, place, number + place)
        if drawn := tuple(drawn_figures(figures, f"{key}-{place}")):
            yield PageFigures(drawn)


def _state(row: CellResult) -> str:
    """Return the verdict of a row with valid outputs, otherwise its state."""
    if row.state != "ok":
        return row.state
    return row.speedup.verdict if row.speedup is not None else ""


def _names(documents: Sequence[RunDocument]) -> list[str]:
    """Return what runs are called, with their ids where two are called the same."""
    ids_by_name: dict[str, set[str]] = {}
    for document in documents:
        ids_by_name.setdefault(_name(document), set()).add(document.run_id)
    return [
        name if len(ids_by_name[name := _name(document)]) == 1 else f"{name} ({document.run_id})"
        for document in documents
    ]


def _name(document: RunDocument) -> str:
    models = dict.fromkeys(table.model for table in document.tables)
    return plain(document.plan.name or ", ".join(models) or document.run_id)
