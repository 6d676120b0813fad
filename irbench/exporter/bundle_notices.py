"""What is said of a bundle that is used or made again, as facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from irbench.card import Card, Origin
from irbench.exporter.freshness import ExistingBundle
from irbench.exporter.identity import options_of, stored_options
from irbench.notices import ExportNotice
from irbench.options.model_commands import ExportOptions

Notify: TypeAlias = Callable[[ExportNotice], None]


def bundle_facts(card: Card, changed: Iterable[Path] = ()) -> dict[str, object]:
    """Return which bundle it is, of which time, what it was made from and how, and which files changed since."""
    return {
        "name": card.bundle.name,
        "created": card.created,
        "source": card.bundle.source,
        "location": card.bundle.source if card.origin is None else card.origin.location,
        "options": {} if card.origin is None else _chosen_options(card.origin),
        "files": [str(path) for path in changed],
    }


def _chosen_options(origin: Origin) -> dict[str, Any]:
    """Return the options of an export that are not those of an export without any; names of bundles apart."""
    folder = Path(origin.folder)
    try:
        chosen = stored_options(replace(options_of(origin.options), name=None), folder)
    except msgspec.ValidationError:  # whoever wrote them
        return {}
    usual = stored_options(ExportOptions(), folder)
    return {name: value for name, value in chosen.items() if value != usual[name]}


def bundle_used(card: Card) -> ExportNotice:
    """Return that a bundle is used as it is, because nothing that it was made from has changed."""
    return ExportNotice("bundle-used", bundle_facts(card))


def source_changed(existing: ExistingBundle) -> ExportNotice:
    """Return that a bundle is made again, and which files are the reason, or which packages where no file is."""
    facts = bundle_facts(existing.card, existing.changed)
    if existing.changed:
        return ExportNotice("source-changed", facts)
    return ExportNotice("tools-changed", {**facts, "tools": dict(existing.packages)})
