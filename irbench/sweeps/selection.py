"""Choosing cells of a plan: ``--only`` and ``--skip``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from irbench.errors import IrbenchError
from irbench.suggestions import did_you_mean
from irbench.sweeps.cells import AXES, Expansion, SweepCell, SweepTable, setting_text

_SHORTEST_ID = 4


@dataclass(frozen=True)
class Selector:
    """Cells that a user means.

    Attributes:
        settings: Values by key; a cell has all of them.
        beginning: Of a cell's or a table's id; empty where settings are given.
    """

    text: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    beginning: str = ""

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Return the selector of ``batch=8,backends=ort``, or of the beginning of an id."""
        if "=" not in text:
            if len(text) < _SHORTEST_ID:
                raise IrbenchError(
                    f"{text!r} selects no cells.",
                    hint=f"Write key=value, or at least {_SHORTEST_ID} characters of an id: irbench plan expand PLAN",
                )
            return cls(text, beginning=text)
        settings = dict(_condition(part) for part in text.split(","))
        return cls(text, settings)

    def fits(self, table: SweepTable, cell: SweepCell) -> bool:
        """Return whether a cell of a table is meant."""
        if self.beginning:
            return cell.id.startswith(self.beginning) or table.id.startswith(self.beginning)
        return all(
            key in cell.settings and setting_text(cell.settings[key]) == value for key, value in self.settings.items()
        )


def select(expansion: Expansion, only: Sequence[str], skip: Sequence[str]) -> Expansion:
    """Return what is left of a plan; a table without cells is left out.

    Args:
        expansion: The whole plan.
        only: Cells that one of these selects are kept; all where there is none.
        skip: Of those, cells that one of these selects are left out.
    """
    kept, dropped = tuple(map(Selector.parse, only)), tuple(map(Selector.parse, skip))
    for selector in (*kept, *dropped):
        if not any(selector.fits(table, cell) for table in expansion.tables for cell in table.cells):
            raise IrbenchError(
                f"{selector.text!r} selects no cell of the plan.", hint="List its cells: irbench plan expand PLAN"
            )
    tables = (_selected(table, kept, dropped) for table in expansion.tables)
    left = tuple(table for table in tables if table.cells)
    if not left:
        raise IrbenchError("--only and --skip leave no cell of the plan.", hint="Leave one of them out.")
    return replace(expansion, tables=left)


def _selected(table: SweepTable, kept: Sequence[Selector], dropped: Sequence[Selector]) -> SweepTable:
    cells = tuple(
        cell
        for cell in table.cells
        if (not kept or any(selector.fits(table, cell) for selector in kept))
        and not any(selector.fits(table, cell) for selector in dropped)
    )
    return table if cells == table.cells else replace(table, cells=cells)


def _condition(text: str) -> tuple[str, str]:
    key, equals, value = text.strip().partition("=")
    if key not in AXES or not equals or not value:
        raise IrbenchError(
            f"{text!r} is no setting of a cell.",
            hint=f"{did_you_mean(key, AXES)}Write key=value with one of: {', '.join(AXES)}.",
        )
    return key, value
