"""Words of which a caller chooses one: those of a ``Literal``, checked where Python passes any string."""

from __future__ import annotations

from typing import Any, Literal, get_args

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError

ReportForm = Literal["table", "json", "csv", "md"]
"""Of the report of a command: for people, or for programs."""


def require_rows(given: str, kinds: Any) -> None:
    """Refuse rows by something else than the words of the ``Literal`` ``kinds``.

    Raises:
        IrbenchError: It is none of them.
    """
    _require(given, get_args(kinds), "There are no rows by {!r}.")


def require_form(given: str, forms: Any) -> None:
    """Refuse a form that is none of the words of the ``Literal`` ``forms``.

    Raises:
        IrbenchError: It is none of them.
    """
    _require(given, get_args(forms), "There is no form {!r}.")


def _require(given: str, known: tuple[str, ...], wrong: str) -> None:
    if given not in known:
        near = did_you_mean(str(given), known)
        raise IrbenchError(wrong.format(given), hint=f"{near}There are: {', '.join(known)}.")
