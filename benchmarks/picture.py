"""The picture of a table in the README: ``python -m benchmarks.picture``, or ``make picture``.

The run behind it is stored in ``docs/demo.json``, so the picture follows every change of the texts.
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from rich.text import Text

from irbench.render.table_title import command_text
from irbench.runs.run_view import DocumentView
from irbench.store.run_document import decode_document

_DOCS = Path(__file__).parents[1] / "docs"
_RUN, _PICTURE = _DOCS / "demo.json", _DOCS / "demo.svg"
_WIDTH = 122
"""Room for every column."""


def picture(run: Path = _RUN) -> str:
    """Return a stored run as a terminal shows it, as SVG.

    Args:
        run: The document of the run.
    """
    document = decode_document(run.read_bytes(), run.name)
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {command_text(document)}", style="bold"))
    console.print(DocumentView(document))
    return console.export_svg(title="irbench")


def main() -> None:
    """Write the picture."""
    _PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
