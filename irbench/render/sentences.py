"""What a table says in words: its title, its winner, and how it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.render.figures import ratio
from irbench.result import CellResult, GroupResult

__all__ = ["footer", "title", "winner_sentence"]

_STOPPED = {
    "target": "stopped by target",
    "launches": "stopped after the most launches",
    "budget": "stopped by the budget",
    "interrupt": "interrupted",
}
_SEPARATOR = " · "


def title(result: GroupResult) -> str:
    """Return the model, its shapes, and everything that all cells have in common."""
    cells = [cell for cell in result.cells if cell.state != "not-applicable"] or list(result.cells)
    shapes = ", ".join(_shape(name, shape, len(result.shapes)) for name, shape in result.shapes.items())
    facts = [
        f"{result.model}  {shapes}",
        _common(
            {str(cell.effective.get("precision") or cell.requested.precision) for cell in cells}, "mixed precision"
        ),
        _threads(cells),
        _common({cell.device for cell in cells}, "several devices"),
        _mode(cells),
    ]
    return _SEPARATOR.join(fact for fact in facts if fact)


def winner_sentence(result: GroupResult) -> str:
    """Return who is fastest, against whom, by how much; or that this cannot be said."""
    labels = {cell.id: cell.label for cell in result.cells}
    ranked = [cell for cell in result.cells if cell.state == "ok"]
    if result.winner is not None:
        value, low, high = ratio(result.winner.value, result.winner.low, result.winner.high)
        return (
            f"{labels[result.winner.cell]} is fastest: {value}x its nearest rival {labels[result.winner.rival]} "
            f"[{low}, {high}] (adjusted for choosing the best)"
        )
    if not ranked:
        return "no cell has a valid result"
    if len(ranked) == 1:
        return f"{ranked[0].label} is the only cell with a valid result" if len(result.cells) > 1 else ""
    if result.preview:
        return f"preview: {ranked[0].label} looks fastest; the ranges below are no intervals"
    return f"no single winner is shown: {ranked[0].label} and {ranked[1].label} are too close to tell"


def footer(result: GroupResult) -> Iterator[str]:
    """Yield how it was measured, what the columns mean, and what marks the rows."""
    yield _SEPARATOR.join(_protocol(result))
    tail = any(cell.latency_ms is not None and cell.latency_ms.p99 is not None for cell in result.cells)
    yield "spread: of launch medians · ready: process start to first answer" + ("" if tail else " · p99: use --tail")
    for cell in result.cells:
        said = list(cell.marks)
        if cell.state == "mismatch" and cell.failure is not None:
            said += [cell.failure.message, cell.failure.hint or ""]
        if any(said):
            yield f"{cell.label}: {_SEPARATOR.join(part for part in said if part)}"
    yield from result.notes


def _protocol(result: GroupResult) -> Iterator[str]:
    if result.blocks_measured:
        yield f"{_count(result.launches, 'launch')} x {_count(result.blocks_per_launch, 'block')}, {_set_aside(result)}"
    elif result.launches == 0:
        yield "no launch was complete"
    yield f"{result.seconds:.0f} s"
    yield _STOPPED[result.stopped_by]
    if result.preview:
        yield "preview: fewer launches than an interval needs"


def _set_aside(result: GroupResult) -> str:
    if result.blocks_set_aside == 0:
        return "none set aside"
    moved = any(warning.code == "set-aside-matters" for warning in result.warnings)
    same = "other" if moved else "same"
    return f"{result.blocks_set_aside} of {result.blocks_measured} set aside ({same} verdicts with them)"


def _count(number: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"


def _shape(name: str, shape: tuple[int, ...], inputs: int) -> str:
    sizes = "x".join(str(size) for size in shape)
    return sizes if inputs == 1 else f"{name} {sizes}"


def _threads(cells: list[CellResult]) -> str:
    asked = {cell.requested.threads for cell in cells}
    if len(asked) != 1:
        return "threads differ"
    (threads,) = asked
    return "native threads" if threads is None else _count(threads, "thread")


def _mode(cells: list[CellResult]) -> str:
    copies = {"copy": "copies included", "bound": "copies left out"}
    io = _common({copies[cell.io] for cell in cells}, "")
    modes = {cell.mode for cell in cells}
    if modes == {"sync"}:
        return f"sync, back to back, {io}"
    return f"requests in flight: compared by time per completion, {io}"


def _common(values: set[str], otherwise: str) -> str:
    return values.pop() if len(values) == 1 else otherwise
