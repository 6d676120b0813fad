"""The map of the package in CONTRIBUTING.md, written by ``python -m benchmarks.package_map`` from docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "CONTRIBUTING.md"
_PACKAGES = ("irbench", "backends", "model_zoo")
_BORDERS = ("<!-- map -->", "<!-- end of the map -->")


def package_map() -> str:
    """Return a table with a line for each folder: what its ``__init__`` says first."""
    return "\n".join(["| folder | contains |", "|---|---|", *_lines()])


def with_map(document: str, table: str) -> str:
    """Return the document with ``table`` between its borders."""
    start, end = _BORDERS
    pattern = re.compile(rf"(?<={re.escape(start)}\n).*?(?={re.escape(end)})", re.DOTALL)
    return pattern.sub(lambda _: f"\n{table}\n\n", document)


def _lines() -> Iterator[str]:
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("__init__.py")):
            text = ast.get_docstring(ast.parse(path.read_text())) or ""
            words = " ".join(text.partition("\n\n")[0].split()).replace("``", "`")
            yield f"| `{path.parent.relative_to(ROOT)}/` | {re.sub(r':[a-z]+:`', '`', words)} |"


if __name__ == "__main__":
    DOCUMENT.write_text(with_map(DOCUMENT.read_text(), package_map()))
