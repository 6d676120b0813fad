"""Write what is made from the columns: ``python -m irbench.render.columns.column_files``.

Type checkers and editors read :class:`irbench.RunRow` and do not run code, and people read the documents.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from irbench.render.columns import COLUMNS, IN_SPEEDS, SECTIONS
from irbench.render.columns.declaration import Column, ColumnType

_ROOT = Path(__file__).parents[3]
_BEGIN, _END = "<!-- columns: written by make generated -->\n", "<!-- end of columns -->\n"
_TYPES: Mapping[ColumnType, str] = {"string": "str", "int64": "int", "double": "float", "bool": "bool", "json": "Any"}
_RUN_ROW = '''"""One row of a run as Python has it.

Written by ``make generated`` from the declarations in :mod:`irbench.render.columns`; change those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunRow:
    """One row: a model on a backend under one load. ``None`` is what was not measured.

    Latencies are in milliseconds for one batch; p50, p90, fps and the speedup are those of the table. Attributes are
    columns of :meth:`Run.to_pandas` and of every export, which have more (docs/exports.md).

    Attributes:
{meanings}
    """

{fields}
'''


def run_row_module() -> str:
    """Return the text of ``irbench/runs/run_row.py``."""
    columns = [column for column in COLUMNS.values() if column.in_python]
    meanings, fields = "\n".join(map(_attribute, columns)), "\n".join(map(_field, columns))
    return _RUN_ROW.format(meanings=meanings, fields=fields)


def with_columns(document: str, tables: str) -> str:
    """Return the text of a document with tables of columns between its marks."""
    before, _, rest = document.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables}\n{_END}{after}"


def export_tables() -> str:
    """Return the tables of docs/exports.md: the columns of exports by what they are about."""
    return "\n".join(
        f"### {heading}\n\n| column | meaning |\n|---|---|\n"
        + "".join(f"| `{column.name}` | {column.meaning} |\n" for column in columns)
        for heading, columns in SECTIONS.items()
    )


def shown_table() -> str:
    """Return the table of docs/reading-results.md: the columns that people see."""
    return "| column | shown | meaning |\n|---|---|---|\n" + "".join(_shown_lines())


def _shown_lines() -> Iterator[str]:
    for _, shown in IN_SPEEDS:
        yield f"| `{shown.documented or shown.heading}` | {shown.when} | {shown.explained} |\n"


def _attribute(column: Column[Any]) -> str:
    words = re.sub(r"--([a-z-]+)", lambda flag: f"``{flag[1].replace('-', '_')}``", column.meaning)
    words = re.sub(r"\bnull\b", "``None``", words)
    return textwrap.fill(
        f"{column.name}: {words}", 120, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False
    )


def _field(column: Column[Any]) -> str:
    return f"    {column.name}: {_TYPES[column.type]}{' | None' if column.is_nullable else ''}"


if __name__ == "__main__":
    (_ROOT / "irbench" / "runs" / "run_row.py").write_text(run_row_module())
    for name, tables in (("exports", export_tables()), ("reading-results", shown_table())):
        path = _ROOT / "docs" / f"{name}.md"
        path.write_text(with_columns(path.read_text(), tables))
