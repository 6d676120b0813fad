"""Bundles that are used by their names or folders: made again where what they were made from has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.exporter.build import export
from irbench.exporter.freshness import Notify, bundle_facts, bundle_used, changed_files, changed_packages, changes
from irbench.exporter.identity import identity, options_of, tool_versions
from irbench.exporter.source import Source
from irbench.notices import ExportNotice
from irbench.notices.exports import (
    BundleOutdated,
    NotExportable,
    OptionsChanged,
    OriginUnknown,
    SourceMissing,
    ToolsChanged,
)
from irbench.options.export import ExportOptions
from irbench.store import bundles
from irbench.store.card import CARD, Card, Origin
from irbench.system.document_damage import damage_text
from irbench.system.file_states import exists, is_of_another_user


def refreshed(place: Path, imports: tuple[str, ...], say: Callable[[str], None], notify: Notify) -> Path:
    """Return the folder of a bundle that is what its source makes now: the given one, or a new one.

    Args:
        place: A bundle in the cache.
        imports: Modules to import before its model is loaded, in place of those of the last export; none for those.
        say: Receives progress.
        notify: Receives which bundle is used, and why.
    """
    card = bundles.load_card(place)
    if card.origin is None:
        return _of_unknown_origin(place, card, say, notify)
    source, options = original_request(card.origin, imports)
    if not _is_available(source, card.origin.exporter):
        notify(SourceMissing(**bundle_facts(card)))
        return place
    changed = [*changes(card.origin, source)]
    key = identity(source, card.origin.exporter, options)
    if key == card.key and not changed and not changed_packages(card.origin):
        notify(bundle_used(card))
        return place
    tools = {} if key == card.key else _changed_tools(card.origin)
    if None in tools.values() and not any(map(exists, changed)):  # its files may lie elsewhere on another machine
        notify(NotExportable(**bundle_facts(card), tools=tools))
        return place
    _require_own(place, card.origin)
    if key != card.key:  # otherwise the export tells what changed
        notify(_reason(card.origin, options, bundle_facts(card, changed), tools))
    return export(source.text, options, say, notify, source.folder)


def _require_own(place: Path, origin: Origin) -> None:
    """Refuse to export what the card of another user names: that runs code, or has files read."""
    if is_of_another_user(place / CARD):
        raise IrbenchError(
            f"{place} belongs to another user, and irbench does not export again what others name.",
            hint=f"If you trust it, export it yourself: irbench export {quote(origin.source)}",
        )


def find_outdated(place: Path) -> ExportNotice | None:
    """Return that the source of a bundle has changed since, where it is there and has; nothing is exported.

    A bundle outside the cache may be anybody's: what it says of its origin is compared with files, and nothing is
    searched.
    """
    card, in_cache = bundles.load_card(place), bundles.is_in_cache(place)
    if card.origin is None or not any(exists(Path(name)) for name in card.origin.files):  # it is from another machine
        return None
    changed = [
        *(changes(card.origin, original_request(card.origin, ())[0]) if in_cache else changed_files(card.origin))
    ]
    if not changed:
        return None
    return BundleOutdated(**bundle_facts(card, changed), folder=str(place), in_cache=in_cache)


def is_made_from(place: Path, source: Source) -> bool:
    """Return whether a bundle is known to have been made from what ``source`` names."""
    origin = bundles.load_card(place).origin
    return origin is not None and origin.location == source.location


def made_from(source: Source) -> tuple[Path, ...]:
    """Return the bundles that were made from what ``source`` names, the last exported first; damaged ones apart."""

    def is_of_source(place: Path) -> bool:
        try:
            return is_made_from(place, source)
        except IrbenchError:
            return False

    return tuple(filter(is_of_source, bundles.by_export()))


def _of_unknown_origin(place: Path, card: Card, say: Callable[[str], None], notify: Notify) -> Path:
    again = card.bundle.source in registry.names(registry.MODELS) and card.bundle.name == card.bundle.source
    notify(OriginUnknown(**bundle_facts(card), exports_again=again))
    return export(card.bundle.source, ExportOptions(), say, notify) if again else place


def original_request(origin: Origin, imports: tuple[str, ...]) -> tuple[Source, ExportOptions]:
    """Return what was exported, and how."""
    try:
        options = options_of(origin.options)
    except msgspec.ValidationError as error:
        raise IrbenchError(
            f"The options of the export of {origin.source} cannot be read: {damage_text(error)}.",
            hint=f"Export it again: irbench export {quote(origin.source)}",
        ) from error
    return Source(origin.source, Path(origin.folder)), replace(options, imports=imports or options.imports)


def _is_available(source: Source, exporter: str) -> bool:
    return source.exists and source.folder.is_dir() and exporter in registry.names(registry.EXPORTERS)


def _reason(
    origin: Origin, options: ExportOptions, facts: Mapping[str, Any], tools: Mapping[str, str | None]
) -> ExportNotice:
    """Return why a bundle has another key now; its options differ in the modules to import at most."""
    if not tools and list(options.imports) != list(origin.options.get("imports", ())):
        return OptionsChanged(**facts, imports=tuple(options.imports))
    return ToolsChanged(**facts, tools=tools)


def _changed_tools(origin: Origin) -> Mapping[str, str | None]:
    """Return the versions of the tools that are not those that made the bundle; ``None`` for one that is missing."""
    now = tool_versions(origin.exporter)
    return {name: version for name, version in now.items() if version != origin.tools.get(name)}
