"""Every word of a vocabulary has a text in the table beside it: a type checker does not see that one is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Literal, get_args, get_origin

import irbench

_KEY = re.compile(r"Mapping\[(\w+),")


def tables() -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Yield each table of texts: its name, itself, and the vocabulary that its keys are of."""
    for found in walk_packages(irbench.__path__, "irbench."):
        if found.name.endswith(("__main__", "irbench.programs.check")) or found.name.startswith("irbench.render."):
            continue
        module = import_module(found.name)
        for name, annotation in getattr(module, "__annotations__", {}).items():
            key = _KEY.match(annotation)
            vocabulary = getattr(module, key[1], None) if key else None
            if name.endswith("_TEXTS") and get_origin(vocabulary) is Literal:
                yield f"{found.name}.{name}", getattr(module, name), vocabulary


def test_a_table_has_an_entry_for_each_word_of_its_vocabulary_and_no_other():
    wrong = {name for name, table, vocabulary in tables() if set(table) != set(get_args(vocabulary))}
    assert not wrong
