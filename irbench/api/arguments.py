"""Arguments of Python's functions that no option declares: paths, models, and words of which one is chosen."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, get_args

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.options.values import path
from irbench.store.folders import default_root


def given_path(keyword: str, value: str | PathLike[str]) -> Path:
    """Return the path that an argument is."""
    try:
        return path(value)
    except (TypeError, ValueError) as error:
        raise IrbenchError(f"{keyword}={value!r} is not valid: {error}.", hint="Give another path.") from error


def results_folder(results: str | PathLike[str] | None) -> Path:
    """Return the folder where runs are kept; ``None`` for the usual place."""
    return default_root() if results is None else given_path("results", results)


def require_rows(kind: str, kinds: Any) -> None:
    """Refuse rows by something else than the words of the ``Literal`` ``kinds``."""
    _require(kind, get_args(kinds), "There are no rows by {!r}.")


def require_form(form: str, forms: Any) -> None:
    """Refuse a form that is not one of the words of the ``Literal`` ``forms``."""
    _require(form, get_args(forms), "There is no form {!r}.")


def _require(word: str, known: tuple[str, ...], wrong: str) -> None:
    if word not in known:
        near = did_you_mean(str(word), known)
        raise IrbenchError(wrong.format(word), hint=f"{near}There are: {', '.join(known)}.")
