"""A group's table with its title, its winner sentence, its footer and its warnings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from irbench.render.figures import NOT_MEASURED, error_size, gigabytes, percent, seconds, significant, speedup_cell
from irbench.render.sentences import footer, title, winner_sentence
from irbench.render.table import Row, TextTable
from irbench.result import CellResult, GroupResult

__all__ = ["GroupView", "group_table"]

_VERDICT_STYLES = {"faster": "green", "slower": "red", "same": "", "undecided": "yellow", "preview": "dim"}
_STATE_STYLES = {"mismatch": "red", "failed": "red", "not-applicable": "dim", "interrupted": "dim"}


class GroupView:
    """Everything a person sees of a group, as wide as the console allows."""

    def __init__(self, result: GroupResult) -> None:
        self._result = result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        result = self._result
        yield Text(title(result), style="bold")
        yield Text(winner_sentence(result))
        for line in group_table(result).as_lines(options.max_width - 1):
            # a table is cut into columns already: folding its lines would destroy them
            line.no_wrap, line.overflow = True, "ignore"
            yield Text(" ") + line
        for note in footer(result):
            yield Text(note, style="dim")
        for warning in result.warnings:
            yield Text.assemble(("! ", "bold yellow"), warning.message, " ", warning.remedy)


def group_table(result: GroupResult) -> TextTable:
    """Return the group's rows, fastest first, as text."""
    has_tail = any(cell.latency_ms is not None and cell.latency_ms.p99 is not None for cell in result.cells)
    tail = ("p99 ms", "p99.9 ms") if has_tail else ()
    headings = ("backend", "prec", "p50 ms", "spread", "p90 ms", *tail)
    headings += ("FPS", "speedup [95 %]", "verdict", "max err", "ready s", "GB")
    return TextTable(
        headings=headings,
        rows=tuple(row for cell in result.cells for row in _rows(cell, result.baseline, has_tail=has_tail)),
        left=frozenset({"backend", "prec", "speedup [95 %]", "verdict"}),
        words="verdict",
    )


def _rows(cell: CellResult, baseline: str | None, *, has_tail: bool) -> Iterator[Row]:
    precision = str(cell.effective.get("precision") or cell.requested.precision)
    if cell.latency_ms is None:
        yield Row((cell.label, precision), _reason(cell), _STATE_STYLES.get(cell.state, ""))
        return
    latency, spread = cell.latency_ms, cell.launch_spread
    is_baseline = cell.id == baseline
    figures = (
        significant(latency.p50, spread),
        percent(spread),
        significant(latency.p90, spread),
        *((significant(latency.p99, 0.01), significant(latency.p99_9, 0.01)) if has_tail else ()),
        significant(cell.fps, spread),
        speedup_cell(cell.speedup, is_baseline=is_baseline),
        _verdict(cell, is_baseline=is_baseline),
        error_size(cell.output_error.max_rel if cell.output_error else None),
        seconds(cell.phases_ms.ready if cell.phases_ms else None),
        gigabytes((cell.peak_memory_bytes or {}).get("process")),
    )
    yield Row((cell.label, precision, *figures), style=_style(cell))


def _verdict(cell: CellResult, *, is_baseline: bool) -> str:
    if cell.state == "mismatch":
        return "wrong"
    if cell.speedup is not None:
        return f"{cell.speedup.verdict} *" if cell.speedup.reason else cell.speedup.verdict
    return NOT_MEASURED if is_baseline or not cell.marks else "not ranked"


def _reason(cell: CellResult) -> str:
    """Return in words why a cell has no figures."""
    if cell.failure is None:
        return cell.state.replace("-", " ")
    stage = f"failed at {cell.failure.stage}: " if cell.state == "failed" else ""
    return f"{stage}{cell.failure.message} {cell.failure.hint or ''}".strip()


def _style(cell: CellResult) -> str:
    if cell.state != "ok":
        return _STATE_STYLES[cell.state]
    return _VERDICT_STYLES[cell.speedup.verdict] if cell.speedup is not None else ""
