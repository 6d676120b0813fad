"""What a reader must know beside the figures, as codes with facts: warnings, notes and marks.

``irbench.render.texts`` turns them into words. Facts are JSON values: numbers, names, lists and mappings of these, and
``None`` for what is unknown. Rows are named by their cell's id, those of a warning where :data:`ROWS_NAMED` says. A new
code is a new version of the document's format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from irbench.notices.base import Context, RowId
from irbench.notices.marks import AnyMark, Mark
from irbench.notices.notes import AnyNote, Note, Reference

__all__ = ["AnyMark", "AnyNote", "Context", "Mark", "Note", "Reference", "RowId"]

Facts: TypeAlias = Mapping[str, Any]

WarningCode = Literal[
    "alone-unlike-rounds",
    "baseline-replaced",
    "busy-machine",
    "cpu-quota",
    "degenerate-outputs",
    "few-clean-blocks",
    "fps-differ",
    "launches-depend",
    "many-dirty-blocks",
    "not-frozen",
    "not-steady",
    "orders-differ",
    "paced-differs",
    "regime-change",
    "excluded-blocks-matter",
    "slow-launches",
    "starved-streams",
    "still-warming-up",
    "stolen-time",
    "sustained-differs",
    "tail-omitted",
    "threads-differ",
    "too-few-launches",
    "two-modes",
    "unverified",
    "waits-on-itself",
    "wide-interval",
]

_EACH = (("rows", "cell"),)
ROWS_NAMED: Mapping[WarningCode, tuple[tuple[str, ...], ...]] = {
    "alone-unlike-rounds": _EACH,
    "baseline-replaced": (("asked",), ("used",)),
    "busy-machine": (),
    "cpu-quota": (),
    "degenerate-outputs": (),
    "few-clean-blocks": (),
    "fps-differ": _EACH,
    "launches-depend": (("cells",),),
    "many-dirty-blocks": (),
    "not-frozen": (),
    "not-steady": _EACH,
    "orders-differ": (*_EACH, ("rows", "other")),
    "paced-differs": (*_EACH, ("reversed", "cell"), ("reversed", "other")),
    "regime-change": (("near", *_EACH[0]), ("far", *_EACH[0])),
    "excluded-blocks-matter": _EACH,
    "slow-launches": _EACH,
    "starved-streams": _EACH,
    "still-warming-up": _EACH,
    "stolen-time": (),
    "sustained-differs": _EACH,
    "tail-omitted": (),
    "threads-differ": _EACH,
    "too-few-launches": (),
    "two-modes": _EACH,
    "unverified": (),
    "waits-on-itself": _EACH,
    "wide-interval": (("cell",),),
}
"""Where among its facts a warning names rows: keys from the outermost on, lists being entered."""

ExportNoticeCode = Literal[
    "bundle-outdated",
    "bundle-used",
    "exported-often",
    "name-taken",
    "not-exportable",
    "options-changed",
    "origin-unknown",
    "path-preferred",
    "source-changed",
    "source-missing",
    "tools-changed",
]
"""Of which bundle is used, and why: said while a call goes on, and not stored with a run."""


@dataclass(frozen=True)
class Warn:
    """Something that speaks against the figures, and that a reader can do something about."""

    code: WarningCode
    facts: Facts = field(default_factory=dict[str, Any])


def named_rows(warning: Warn) -> frozenset[str]:
    """Return the ids of the cells that a warning names; none where it is about the whole table."""
    return frozenset(cell for keys in ROWS_NAMED[warning.code] for cell in _texts_at(warning.facts, keys))


def _texts_at(facts: object, keys: tuple[str, ...]) -> Iterator[str]:
    if isinstance(facts, list | tuple):
        for item in facts:
            yield from _texts_at(item, keys)
    elif keys and isinstance(facts, Mapping):
        yield from _texts_at(facts.get(keys[0]), keys[1:])
    elif not keys and isinstance(facts, str):
        yield facts


@dataclass(frozen=True)
class ExportNotice:
    """Something about a bundle that is used or made."""

    code: ExportNoticeCode
    facts: Facts = field(default_factory=dict[str, Any])
