"""A bar for each backend: the time of an inference by class of work, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from irbench.features.profile.report import CellSummary, ProfileReport
from irbench.features.profile.views.sentences import class_name, estimated
from irbench.onnx.operator_classes import OperatorClass
from irbench.render.line_wrapping import cell_count, shorten_middle
from irbench.render.views import paragraph

_LONGEST_NAME = 30
_NARROWEST, _WIDEST = 20, 80
_BETWEEN = "between operators"
_FILLS: Mapping[OperatorClass | None, tuple[str, str]] = {
    OperatorClass.MATRIX: ("█", "#"),
    OperatorClass.RECURRENT: ("▙", "@"),
    OperatorClass.NORMALISATION: ("▒", "+"),
    OperatorClass.ELEMENTWISE: ("▓", "="),
    OperatorClass.REDUCTION: ("▄", "/"),
    OperatorClass.MOVEMENT: ("░", ":"),
    OperatorClass.CONTROL_FLOW: ("▀", "%"),
    OperatorClass.OTHER: ("▖", "x"),
    OperatorClass.OVERHEAD: ("▞", "o"),
    None: ("·", "."),
}
"""What a class is drawn with, in Unicode and in ASCII; ``None`` is what lies between operators. No two are the same, so
that bars need no colours."""


def class_bars(
    report: ProfileReport, cells: Sequence[CellSummary], width: int, *, unicode: bool = True
) -> Iterator[Text]:
    """Yield a bar for each cell, all on one scale, and what they are made of; nothing without times.

    Args:
        report: Of the profile.
        cells: Those that are shown.
        width: Of the lines, in cells.
        unicode: Whether the terminal shows more than ASCII.
    """
    times = {cell.id: report.times_in_order(cell) for cell in cells}
    sums = {cell: sum(time_ns for _, time_ns in parts) for cell, parts in times.items()}
    longest = max(sums.values(), default=0.0)
    if not longest:
        return
    labels = {cell.id: shorten_middle(cell.label, _LONGEST_NAME, _LONGEST_NAME // 2) for cell in cells}
    texts = {cell.id: f"{estimated(cell.sum_ns if cell.overlaps else cell.latency_ns)} ms" for cell in cells}
    left, right = max(map(cell_count, labels.values())), max(map(len, texts.values()))
    room = min(_WIDEST, max(_NARROWEST, width - left - right - 4))
    for cell in cells:
        bar = _bar(times[cell.id], room / longest, unicode=unicode)
        yield Text(f" {labels[cell.id]}{' ' * (left - cell_count(labels[cell.id]))}  {bar} {texts[cell.id]}")
    shown = dict.fromkeys(operator_class for parts in times.values() for operator_class, _ in parts)
    yield from paragraph("; ".join(_named(part, unicode=unicode) for part in shown), width, "dim")


def _bar(parts: Sequence[tuple[OperatorClass | None, float]], cells_per_ns: float, *, unicode: bool) -> str:
    """Return a bar whose parts end where they do on the scale, so that rounding does not add up."""
    bar, end_ns = "", 0.0
    for operator_class, time_ns in parts:
        end_ns += time_ns
        bar += _fill(operator_class, unicode=unicode) * (round(end_ns * cells_per_ns) - len(bar))
    return bar


def _named(operator_class: OperatorClass | None, *, unicode: bool) -> str:
    name = _BETWEEN if operator_class is None else class_name(operator_class)
    return f"{_fill(operator_class, unicode=unicode)} {name}"


def _fill(operator_class: OperatorClass | None, *, unicode: bool) -> str:
    drawn, ascii_only = _FILLS[operator_class]
    return drawn if unicode else ascii_only
