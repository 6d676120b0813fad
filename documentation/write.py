"""Write the generated pages: ``python -m documentation.write``, which ``make generated`` calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from documentation.codes import EXIT_PAGE, PAGE, codes_page, exit_code_table
from documentation.commands import command_pages
from documentation.markdown import with_part
from documentation.python_api import PAGE as PYTHON_PAGE
from documentation.python_api import python_page
from documentation.schemas import PAGE as SCHEMAS_PAGE
from documentation.schemas import schemas_page

ROOT = Path(__file__).parents[1]


def generated_pages() -> Mapping[Path, str]:
    """Return the text of each generated page by its path in the repository."""
    exit_codes = with_part((ROOT / EXIT_PAGE).read_text(), "exit codes", exit_code_table())
    pages = {PAGE: codes_page(), EXIT_PAGE: exit_codes, PYTHON_PAGE: python_page(), SCHEMAS_PAGE: schemas_page()}
    return {**dict(command_pages()), **pages}


if __name__ == "__main__":
    for path, text in generated_pages().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
