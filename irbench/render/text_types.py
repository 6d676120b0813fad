"""Types of the tables of texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from irbench.notices import Context, Facts

Say: TypeAlias = Callable[[Facts, Context], str]


def said(say: Say, code: str, facts: Facts, context: Context) -> str:
    """Return what a text makes of facts; the facts themselves where a document from elsewhere lacks some."""
    try:
        return say(facts, context)
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError):
        return f"{code}: {json.dumps(facts)}"


def _nothing(_facts: Facts, _context: Context) -> str:
    return ""


@dataclass(frozen=True)
class Text:
    """How a note or a mark is said.

    Attributes:
        says: One line of what it means, for the documentation.
        text: Makes the words.
        example: Facts to show it with.
    """

    says: str
    text: Say
    example: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class WarningText:
    """How a warning is said.

    Attributes:
        says: One line of what it means, for the documentation.
        brief: Makes one short sentence.
        remedy: Makes the sentences that say what to do.
        detail: Makes further sentences; none where the short one says all.
        example: Facts to show it with.
    """

    says: str
    brief: Say
    remedy: Say
    detail: Say = _nothing
    example: Mapping[str, Any] = field(default_factory=dict[str, Any])
