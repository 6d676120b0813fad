"""Documents of format 1, whose warnings, notes and marks were sentences: the words are kept as they were stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def upgrade(document: Any) -> Any:
    """Return a document of format 1 as one of format 2.

    What has another form than format 1 allows is left as it is: reading it as a document says what is wrong.

    Args:
        document: Decoded JSON.
    """
    if not isinstance(document, dict):
        return document
    return {**_with(document, "groups", _each(_group)), "schema_version": 2}


def _group(group: Any) -> Any:
    if not isinstance(group, dict):
        return group
    group = _with(group, "warnings", _each(_warning))
    group = _with(group, "notes", _each(_words))
    group = _with(group, "verified_against", _reference)
    group = _with(group, "cells", _each(_cell))
    return {("blocks_excluded" if name == "blocks_set_aside" else name): value for name, value in group.items()}


def _cell(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    cell = _with(cell, "marks", _each(_words))
    cell = {("disagreement" if name == "caution" else name): value for name, value in cell.items()}
    cell = _with(cell, "disagreement", _disagreement)
    return _with(cell, "speedup", lambda speedup: _with(speedup, "reason", _words))


def _warning(warning: Any) -> Any:
    return {"code": "stored-words", "facts": warning} if isinstance(warning, dict) else warning


def _words(words: Any) -> Any:
    return {"code": "stored-words", "facts": {"text": words}} if isinstance(words, str) else words


def _reference(source: Any) -> Any:
    return {"source": "stored-words", "name": source} if isinstance(source, str) else source


def _disagreement(words: Any) -> Any:
    return {"measure": "stored-words", "words": words} if isinstance(words, str) else words


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: [change(value) for value in values] if isinstance(values, list) else values


def _with(holder: Any, name: str, change: Callable[[Any], Any]) -> Any:
    if not isinstance(holder, dict) or name not in holder:
        return holder
    return {**holder, name: change(holder[name])}
