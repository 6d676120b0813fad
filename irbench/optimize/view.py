"""Where optimised graphs come from, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from irbench.optimize.lineage import Lineage
from irbench.render.figures import NOT_MEASURED, error_size
from irbench.render.optimize import agreement_line
from irbench.render.table import Column, Row, TextTable
from irbench.render.wording import plain

__all__ = ["kept_table", "lineage_lines", "sizes_text"]

_COLUMNS = (
    Column("optimised", words=True),
    Column("bound", words=True),
    Column("nodes"),
    Column("max err"),
    Column("made", words=True),
    Column("with", words=True),
    Column("what is special", words=True, folds=True),
    Column("passes that changed something", words=True, folds=True),
)


def kept_table(kept: Sequence[Lineage]) -> TextTable:
    """Return a row for each graph that was made from another."""
    return TextTable(_COLUMNS, tuple(Row(_cells(one)) for one in kept))


def lineage_lines(lineage: Lineage) -> Iterator[Text]:
    """Yield in a few lines what was done to a graph, when and with what."""
    first, last = lineage.steps[0], lineage.steps[-1]
    yield Text(f"optimised as {plain(lineage.recipe.name)}, {first.nodes} to {last.nodes} nodes, {_when(lineage)}")
    yield Text(f"passes: {', '.join(_passes(lineage)) or 'none changed anything'}")
    yield Text(f"bound: {sizes_text(lineage.sizes) or 'nothing'}")
    yield Text(f"made with {', '.join(f'{name} {version}' for name, version in lineage.versions.items())}")
    if lineage.recipe.conversion is not None and lineage.agreement is not None:
        yield Text(agreement_line(lineage.recipe.conversion.precision, lineage.agreement))
    else:
        error = _error(lineage)
        yield Text("the graph as it came" if error == NOT_MEASURED else f"max err {error} beside the original")
    yield from (Text(plain(one)) for one in _remarks(lineage))


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return ``batch=1,length=32``; nothing where no size was bound."""
    return ",".join(f"{name}={size}" for name, size in sorted(sizes.items()))


def _cells(lineage: Lineage) -> tuple[str, ...]:
    return (
        lineage.recipe.name,
        sizes_text(lineage.sizes) or NOT_MEASURED,
        str(lineage.steps[-1].nodes),
        _error(lineage),
        _when(lineage),
        f"irbench {lineage.versions.get('irbench', '?')}",
        "; ".join(_remarks(lineage)) or NOT_MEASURED,
        ", ".join(_passes(lineage)) or NOT_MEASURED,
    )


def _passes(lineage: Lineage) -> list[str]:
    return [step.name for step in lineage.steps if step.modified]


def _error(lineage: Lineage) -> str:
    errors = [step.max_rel_error for step in lineage.steps if step.max_rel_error is not None]
    return error_size(errors[-1]) if errors else NOT_MEASURED


def _when(lineage: Lineage) -> str:
    return lineage.created[:16].replace("T", " ")


def _remarks(lineage: Lineage) -> Iterator[str]:
    if lineage.domains:
        yield f"holds operators of {', '.join(lineage.domains)}: only runtimes that know them can read it"
    if lineage.turned:
        yield f"takes {', '.join(lineage.turned)} as NCHW"
    if lineage.caution is not None:
        yield f"no stand-in for the original: {lineage.caution}"
