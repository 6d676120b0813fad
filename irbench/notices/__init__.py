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

__all__ = ["AnyMark", "Context", "Mark", "RowId"]

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
    "stored-words",
    "sustained-differs",
    "tail-omitted",
    "threads-differ",
    "too-few-launches",
    "two-modes",
    "unverified",
    "waits-on-itself",
    "wide-interval",
]
"""``stored-words`` is a warning of a document of format 1, which held words."""

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
    "stored-words": (),
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

NoteCode = Literal[
    "accuracy-of-random-inputs",
    "another-irbench",
    "busy-neighbour",
    "calibrated-on-generated",
    "chosen-backend",
    "chosen-model",
    "energy-incomplete",
    "graph-partly-unchecked",
    "graph-refused",
    "graph-unbound",
    "int8-static-chosen",
    "ir-version-lowered",
    "layout-unchanged",
    "native-precision",
    "no-operator-times",
    "optimize-not-applied",
    "python-environment",
    "samples-not-timed",
    "slower-than-exported",
    "stored-words",
    "tail-range",
]

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
class Note:
    """Something else that belongs below a table."""

    code: NoteCode
    facts: Facts = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class ExportNotice:
    """Something about a bundle that is used or made."""

    code: ExportNoticeCode
    facts: Facts = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Reference:
    """Where the expected outputs of a table came from.

    Attributes:
        source: ``export`` for those of the original framework, kept at export; ``backend`` for those of a reference
            backend; ``stored-words`` in a document of format 1.
        name: The framework, the reference backend, or the words.
        label: What the backend is called as a reference, by its own description; empty where it has none.
    """

    source: Literal["export", "backend", "stored-words"]
    name: str
    label: str = ""
