"""A table with its title, headline, footer and warnings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal, TypeAlias

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.core.quantities import plural, significant, times
from irbench.core.result import Contradiction, GroupResult, Lead, UnevenLoad, Winner
from irbench.core.row import CellResult, Ends, is_too_slow, row_names
from irbench.core.stored_plan import StoredPlan
from irbench.notices import Context, Note
from irbench.notices.marks import OtherPeaks
from irbench.notices.warnings import OrderRow, OrdersDiffer
from irbench.render.columns import IN_SPEEDS
from irbench.render.columns.declaration import Column, R, ShownColumn, ShownSpeed, T
from irbench.render.columns.neighbours import has_neighbours
from irbench.render.figure_texts import ends_text, ratio_with_ends
from irbench.render.footer import (
    footer,
    is_long,
    is_shortened,
    mismatches,
    not_applicable,
    reason,
    short_warnings,
    shown_warnings,
    whole_warnings,
)
from irbench.render.neighbour_texts import slowdowns_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import compared_how, title
from irbench.render.tables_below import tables_below
from irbench.render.verdicts import NO_WINNER_TEXTS, style_of
from irbench.render.views import Block, Sentence, hidden_columns, paragraph, table_lines, width_of

_WITHOUT_FIGURES_STYLE = "dim"
_BRIEF_WIDTH = 120
"""Warnings of fewer characters are shown whole where the others can be opened."""
_Columns: TypeAlias = Sequence[tuple[Column[Any], ShownSpeed]]
WhichColumns: TypeAlias = Literal["usual", "all"] | Sequence[str]
"""``usual``: those that answer which row to choose; or names of columns, as exports have them."""


class GroupView:
    """Everything a person sees of a group, in as much width as there is.

    Args:
        result: The group.
        environment: The machine, from the run's document; says how many cores there were.
        plan: What was asked for, from the run's document; says which processors were named and the confidence.
        columns: Which of them the table has.
        intervals: Whether latencies and FPS are shown with their intervals over launches.
        warnings: Whether warnings are shown whole, with their remedies, and reasons of rows without figures as well;
            otherwise a warning is a short sentence, and a long reason is cut.
        told: Notes that are told already, below another table of the run.
        roofline: Whether rows are compared with the peaks of the machine.
    """

    def __init__(
        self,
        result: GroupResult,
        environment: Mapping[str, Any] | None = None,
        plan: StoredPlan | None = None,
        *,
        columns: WhichColumns = "usual",
        intervals: bool = False,
        warnings: bool = False,
        told: Collection[Note] = (),
        roofline: bool = False,
    ) -> None:
        result = result if roofline else without_roofline(result)
        self._result, self._told = result, told
        self._environment = environment or {}
        self._plan = plan or StoredPlan()
        self._context = context_of(result, self._environment, self._plan)
        self._whole_warnings, self._intervals = warnings, intervals
        confidence = self._plan.confidence
        self._table = group_table(result, confidence, columns, intervals=intervals, whole_reasons=warnings)
        self._left_out, self._is_usual = _left_out(result, confidence, columns), columns == "usual"
        self._below = tables_below(result, confidence)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        return width_of(self._table, console, options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width)

    def as_lines(self, width: int) -> Iterator[Text]:
        """Yield the view as lines of at most ``width`` cells, as far as the table's columns allow."""
        yield from paragraph(title(self._result, self._environment, self._plan), width, "bold")
        yield from paragraph(headline(self._result, self._context), width, "")
        yield from table_lines(self._table, width)
        for below in self._below:
            yield Text("")
            yield from table_lines(below, width)
        hidden = (*self._left_out, *hidden_columns(self._table, width))
        more = len(self._left_out) if self._is_usual else 0
        for note in footer(self._result, self._context, hidden, self._told, more):
            yield from paragraph(note, width, "dim")
        for mismatch in (*mismatches(self._result, self._context), *not_applicable(self._result, self._context)):
            yield from paragraph(mismatch, width, "yellow", hanging="  ")
        yield from self._warnings(width)

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them; warnings and reasons are whole."""
        result, context = self._result, self._context
        yield Sentence(title(result, self._environment, self._plan), "title")
        yield Sentence(headline(result, context), "verdict")
        yield group_table(result, self._plan.confidence, intervals=self._intervals)
        yield from self._below
        yield from (Sentence(note, "note") for note in footer(result, context, told=self._told))
        yield from (Sentence(text, "warning") for text in mismatches(result, context))
        yield from (Sentence(text, "warning") for text in not_applicable(result, context))
        shown = shown_warnings(result)
        brief = short_warnings(shown, context, _BRIEF_WIDTH)
        for text, whole in zip(brief, whole_warnings(shown, context), strict=True):
            yield Sentence(text, "warning", "" if text == whole else whole)

    def shortens(self, width: int) -> bool:
        """Whether some warning has more to say than is shown at this width."""
        if self._whole_warnings:
            return False
        return is_shortened(shown_warnings(self._result), self._context, width)

    @property
    def shortens_reasons(self) -> bool:
        """Whether the reason of some row without figures has more to say than is shown."""
        return not self._whole_warnings and any(map(is_long, self._result.cells))

    def _warnings(self, width: int) -> Iterator[Text]:
        shown = (
            whole_warnings(self._result.warnings, self._context)
            if self._whole_warnings
            else short_warnings(shown_warnings(self._result), self._context, width)
        )
        for warning in shown:
            yield from paragraph(warning, width, "yellow", hanging="  ")


def without_roofline(result: GroupResult) -> GroupResult:
    """Return a table without what compares its rows with the peaks of the machine: it is shown on request."""
    rows = (
        replace(
            cell,
            work=None,
            gflop_per_s=None,
            roof_share=None,
            marks=tuple(mark for mark in cell.marks if not isinstance(mark, OtherPeaks)),
        )
        for cell in result.cells
    )
    return replace(result, cells=tuple(rows))


def group_table(
    result: GroupResult,
    confidence: float = 0.95,
    columns: WhichColumns = "all",
    *,
    intervals: bool = False,
    whole_reasons: bool = True,
) -> TextTable:
    """Return the group's rows in their order, as text."""
    chosen = _chosen(result, columns)
    rows = (_row(cell, result, chosen, intervals=intervals, whole=whole_reasons) for cell in result.cells)
    return TextTable(tuple(heading(shown, result, confidence) for _, shown in chosen), tuple(rows))


def _left_out(result: GroupResult, confidence: float, columns: WhichColumns) -> tuple[str, ...]:
    """Return the headings of the columns that a table has, and that were not chosen."""
    chosen = _chosen(result, columns)
    left_out = (shown for column, shown in _chosen(result, "all") if (column, shown) not in chosen)
    return tuple(heading(shown, result, confidence).heading for shown in left_out)


def _chosen(result: GroupResult, columns: WhichColumns) -> _Columns:
    known = [(column, shown) for column, shown in IN_SPEEDS if shown.is_shown(result)]
    if columns == "all":
        return known
    if columns == "usual":
        return [(column, shown) for column, shown in known if shown.is_usual(result)]
    by_name = {column.name: (column, shown) for column, shown in known}
    return [by_name[name] for name in columns if name in by_name] or known[:1]


def columns_of(result: GroupResult) -> tuple[str, ...]:
    """Return the names of all columns that a table has."""
    return tuple(column.name for column, _ in _chosen(result, "all"))


def heading(shown: ShownColumn[R, T], table: T, confidence: float) -> TableColumn:
    """Return a column of a table for people; the confidence is that of intervals."""
    name = shown.heading if isinstance(shown.heading, str) else shown.heading(table, confidence)
    return TableColumn(name, words=shown.words, drops=shown.drops)


def _row(cell: CellResult, result: GroupResult, columns: _Columns, *, intervals: bool, whole: bool) -> Row:
    if cell.latency_ms is None and cell.state != "ok":
        before = takewhile(lambda item: item[0].name != "verdict", columns)
        cells = tuple(column.text("speed", shown, cell, result) for column, shown in before)
        return Row(cells, reason(cell, whole=whole), style_of_row(cell))
    texts = (
        (intervals and _interval(shown, cell)) or column.text("speed", shown, cell, result) for column, shown in columns
    )
    return Row(tuple(texts), style=style_of_row(cell))


def _interval(shown: ShownSpeed, cell: CellResult) -> str:
    """Return the median over launches with its interval; empty where the column has none."""
    spans = shown.spans(cell) if shown.spans is not None else None
    return "" if spans is None else f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=True)}"


def style_of_row(cell: CellResult) -> str:
    """Return the style of a row's line: that of its verdict, or of its state where its outputs are not valid."""
    if cell.state != "ok":
        return style_of(cell.state) or _WITHOUT_FIGURES_STYLE
    return style_of(cell.speedup.verdict) if cell.speedup is not None else ""


def headline(result: GroupResult, context: Context) -> str:
    """Return who is fastest, against whom, by how much; or what can be said instead."""
    said = _leader(result, context)
    return f"{said}; outputs not verified" if said and result.unverified else said


def _leader(result: GroupResult, context: Context) -> str:
    names = row_names(result.cells)
    ranked = [cell for cell in result.cells if cell.state == "ok" and cell.latency_ms is not None]
    if has_neighbours(result):
        return slowdowns_text(result)
    if result.lead is not None:
        return _lead(result, result.lead, context)
    if result.winner is not None:  # a document from before leads were stored
        return (
            f"{names[result.winner.cell]} is fastest: {_ahead(result, result.winner)} (adjusted for multiple"
            " comparisons)"
        )
    if not ranked:
        return "no row has a valid result"
    if _bound_ms(result) < math.inf and ranked:
        return _without_rivals([names[cell.id] for cell in ranked if not is_too_slow(cell)], _bound_ms(result))
    return f"only {names[ranked[0].id]} has a valid result" if len(ranked) == 1 < len(result.cells) else ""


def _bound_ms(result: GroupResult) -> float:
    return math.inf if result.goal is None or result.goal.max_latency_ms is None else result.goal.max_latency_ms


def _without_rivals(able: Sequence[str], bound_ms: float) -> str:
    if not able:
        return f"no row has a p90 latency of at most {bound_ms:g} ms"
    return f"only {able[0]} has a p90 latency of at most {bound_ms:g} ms" if len(able) == 1 else ""


def _lead(result: GroupResult, lead: Lead, context: Context) -> str:
    names = row_names(result.cells)
    leader, rival, ahead = names[lead.cell], names[lead.rival], _ahead(result, lead)
    where, reservation = _condition(result)
    if lead.reason is None:
        return f"{leader} is fastest{where}: {ahead}{_adjusted(result)}{reservation}"
    order = _contradicted_order(result, lead)
    if lead.reason == "preview" and lead.contradiction is not None:
        return f"preview: {_other_blocks(result, lead, lead.contradiction)}"
    if lead.reason == "all-blocks-disagree" and lead.contradiction is not None:
        return f"no winner: {_other_blocks(result, lead, lead.contradiction)}. Repeat the run on a quiet machine"
    if lead.reason == "preview" and order is not None:
        return f"preview{where}: {_no_order(names, order)}{reservation}"
    if lead.reason == "preview":
        return f"preview{where}: {_preview(result, lead)}{reservation}"
    if lead.reason == "p50-disagrees" and order is not None:
        return f"no winner: {_no_order(names, order)}"
    if lead.reason == "busy":
        return f"no winner: {_too_busy(result, context)}"
    if lead.reason == "uneven-load" and result.uneven_load is not None:
        return f"no winner: {_unevenly_busy(result.uneven_load, names)}"
    said = NO_WINNER_TEXTS[lead.reason].headline.format(leader=leader, rival=rival, throughput=context.throughput)
    if lead.reason in ("same", "undecided"):
        return f"no winner: {said}{where}: {_of_both(result, lead)}{_adjusted(result)}{reservation}"
    return f"no winner: {said}"


def _contradicted_order(result: GroupResult, lead: Lead) -> OrderRow | None:
    """Return the rows of which one leads by speedup and another has the better p50 or FPS, where there are two."""
    rows = (row for warning in result.warnings if isinstance(warning, OrdersDiffer) for row in warning.rows)
    return next((row for row in rows if row.cell == lead.cell), None)


def _no_order(names: Mapping[str, str], order: OrderRow) -> str:
    leader, other = names[order.cell], names[order.other]
    ahead = f"{leader} is {times(order.lead)} as fast by speedup, but {order.figures()}"
    return f"whether {leader} or {other} is faster cannot be told: {ahead}"


def _other_blocks(result: GroupResult, lead: Lead, against: Contradiction) -> str:
    """Return who leads in the blocks that count, and who does in the others."""
    names, said = row_names(result.cells), {"all": "over all blocks", "undisturbed": "in undisturbed blocks"}
    others = said.pop(against.blocks)
    (own,) = said.values()
    leader, rival, other = names[lead.cell], names[lead.rival], names[against.cell]
    return (
        f"{leader} is {times(lead.value)} as fast as {rival} {own} of {plural(lead.launches, 'launch')}, but"
        f" {other} is {times(against.value)} as fast as {leader} {others} of {plural(against.launches, 'launch')}"
    )


def _condition(result: GroupResult) -> tuple[str, str]:
    """Return where it holds, and what that leaves open; two empty texts where there is no condition."""
    if result.condition is None:
        return "", ""
    return " on this busy machine", f"; {_disturbed(result)}, so a quiet machine may differ"


def _disturbed(result: GroupResult) -> str:
    verb = "was" if result.blocks_measured == 1 else "were"
    return f"{result.blocks_disturbed} of {plural(result.blocks_measured, 'block')} {verb} disturbed"


def _unevenly_busy(uneven: UnevenLoad, names: Mapping[str, str]) -> str:
    more, less = f"{uneven.more_processors:.2f}", f"{uneven.less_processors:.2f}"
    return (
        f"other programs used {more} processors while {names[uneven.more]} ran and {less} while {names[uneven.less]}"
        f" ran, so rows did not run under the same conditions. Find what runs more beside {names[uneven.more]}"
        " (top lists programs), stop it, and repeat the run"
    )


def _too_busy(result: GroupResult, context: Context) -> str:
    processors = ", use idle processors with --cpus" if context.has_idle_processors else ""
    remedy = f"Close other programs (top lists them){processors}, and repeat the run"
    return f"the machine was too busy, {_disturbed(result)}{_verdicts_of_busy(result)}. {remedy}"


def _verdicts_of_busy(result: GroupResult) -> str:
    if all(cell.speedup is None or cell.speedup.verdict not in ("faster", "slower") for cell in result.cells):
        return ""
    return ", and a difference between rows may be due to that: verdicts are of this run only"


def _ahead(result: GroupResult, lead: Lead | Winner) -> str:
    """Return ``1.14x its nearest rival ort [1.12, 1.16]``, of a row that was named as the fastest."""
    return _ratio(result, lead, "x its nearest rival")


def _of_both(result: GroupResult, lead: Lead) -> str:
    """Return ``openvino is 1.01x as fast as ort [0.99, 1.03]``, where neither was named as the fastest."""
    return f"{row_names(result.cells)[lead.cell]} is {_ratio(result, lead, 'x as fast as')}"


def _ratio(result: GroupResult, lead: Lead | Winner, than: str) -> str:
    """Return the ratio of the leader to its rival, without brackets where there was one launch only."""
    ends = Ends(lead.low, lead.high, is_range=False) if isinstance(lead, Winner) else lead.ends
    value, span = ratio_with_ends(lead.value, ends)
    unit = f" {how}" if (how := compared_how(result)) else ""
    return f"{value}{than} {row_names(result.cells)[lead.rival]}{unit}{span}{_on_threads(result, lead)}"


def _on_threads(result: GroupResult, lead: Lead | Winner) -> str:
    used = {cell.id: cell.all_threads for cell in result.cells}
    own, other = used.get(lead.cell), used.get(lead.rival)
    return "" if None in (own, other) or own == other else f" on {own} threads against {other}"


def _preview(result: GroupResult, lead: Lead) -> str:
    names = row_names(result.cells)
    leader, rival = names[lead.cell], names[lead.rival]
    if lead.launches == 1:
        return f"{leader} leads, {_ahead(result, lead)}, after only one launch"
    launches = plural(lead.launches, "launch")
    if lead.ends is None or lead.ends.low <= 1:
        return f"{leader} and {rival} cannot be distinguished: {_of_both(result, lead)}, the range over {launches}"
    return f"{leader} leads, {_ahead(result, lead)}, the range over {launches}"


def _adjusted(result: GroupResult) -> str:
    return " (adjusted for multiple comparisons)" if sum(cell.speedup is not None for cell in result.cells) > 1 else ""


def context_of(result: GroupResult, environment: Mapping[str, Any], plan: StoredPlan) -> Context:
    """Return what words below a table may depend on."""
    allowed, named = environment.get("cpus_allowed"), plan.cpus
    known = allowed if isinstance(allowed, int) else None
    threads = [cell.requested.all_threads for cell in result.cells]
    used = max((count for count in threads if count is not None), default=0) if None not in threads else None
    return Context(
        names=row_names(result.cells),
        throughput=result.throughput_unit,
        thorough=plan.preset == "thorough",
        has_idle_processors=known is not None and used is not None and 0 < used < known,
        can_add_processors=known is not None and named is not None and 0 < len(named) < known,
    )
