"""A stored run with numbers that no machine measures is refused or shown, and never an internal error."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import pytest
from absurd_numbers import ABSURD, number_paths, with_number
from exports import run_of, text
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_runs import everything

from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.features.results.view import run_table
from irbench.render.formats.export_formats import FORMATS
from irbench.runs.document_text import render_document
from irbench.runs.run_view import DocumentView
from irbench.store.run_document import decode_document
from irbench.store.table_outcomes import entry_of
from irbench.terminal.console import to_text

pytestmark = pytest.mark.ci

PLAIN: dict[str, Any] = msgspec.to_builtins(everything())
PATHS = number_paths(PLAIN)
FORMS = [name for name, form in FORMATS.items() if not form.is_binary and not form.reads_samples]


def shown(document: RunDocument) -> list[str]:
    """Return a run in every text format."""
    options: list[dict[str, Any]] = [{}, {"warnings": True}, {"intervals": True}, {"memory": True}]
    listed = run_table([entry_of(document, "")], datetime.fromisoformat(document.created))
    return [
        *(to_text(DocumentView(document, **chosen), to_file=True) for chosen in options),
        *(render_document(document, form) for form in ("md", "csv", "json")),
        *(text(form, run_of(document)) for form in FORMS),
        to_text(listed, to_file=True),
    ]


@settings(deadline=None)  # it shows a whole run in every format
@given(st.sampled_from(sorted(PATHS)), st.sampled_from(ABSURD))
def test_whatever_a_number_is_a_run_is_refused_or_shown(kind: tuple[str, ...], number: float) -> None:
    data = msgspec.json.encode(with_number(PLAIN, PATHS[kind], number))
    try:
        document = decode_document(data, "run.json")
    except IrbenchError:
        return
    assert all(shown(document))


@pytest.mark.parametrize("number", [max(ABSURD), 5e-324])
def test_a_run_of_nothing_but_such_numbers_is_refused_or_shown(number: float) -> None:
    absurd = PLAIN
    for path in PATHS.values():
        changed = with_number(absurd, path, number)
        try:
            decode_document(msgspec.json.encode(changed), "run.json")
        except IrbenchError:
            continue
        absurd = changed
    assert all(shown(decode_document(msgspec.json.encode(absurd), "run.json")))
