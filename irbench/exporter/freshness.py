"""Whether a bundle is still what an export of its source would make, without importing the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from irbench.exporter.identity import identity, options_of, stored_options, versions
from irbench.exporter.source import Source, find_users_module
from irbench.notices import ExportNotice
from irbench.notices.exports import BundleUsed, SourceChanged, ToolsChanged
from irbench.options.export import ExportOptions
from irbench.store import bundles
from irbench.store.card import Card, Origin
from irbench.system.file_states import exists, files_below, is_file, is_unchanged, names_digest


@dataclass(frozen=True)
class ExistingBundle:
    """A bundle that was made for the same request.

    Attributes:
        changed: The files that are not what they were when it was made; none where it can be used.
        packages: The versions of the packages that are not what they were, likewise; ``None`` for one that is missing.
    """

    folder: Path
    card: Card
    changed: tuple[Path, ...]
    packages: Mapping[str, str | None]

    @property
    def is_fresh(self) -> bool:
        """Whether it can be used."""
        return not self.changed and not self.packages


def existing_bundle(source: Source, exporter: str, options: ExportOptions) -> ExistingBundle | None:
    """Return the bundle that an export with these options has made already: one that can be used, else the newest."""
    key = identity(source, exporter, options)
    stale: ExistingBundle | None = None
    for folder in _candidates(key, options.output):
        card = bundles.load_card(folder)
        changed = () if card.origin is None else tuple(changes(card.origin, source))
        packages = {} if card.origin is None else changed_packages(card.origin)
        bundle = ExistingBundle(folder, card, changed, packages)
        if bundle.is_fresh:
            return bundle
        stale = stale or bundle
    return stale


def changes(origin: Origin, source: Source) -> Iterator[Path]:
    """Yield the files that are not what they were when a bundle was made."""
    yield from changed_files(origin)
    for folder in map(Path, origin.folders):
        if folder.is_absolute():
            yield from (file for file in files_below(folder) if str(file) not in origin.files)
        else:  # no export writes that
            yield folder
    yield from filter(exists, map(Path, origin.absent))
    for name, names in origin.listings.items():
        if not names or names_digest(Path(name)) != names:
            yield Path(name)
    yield from _moved_modules(origin, source)


def changed_files(origin: Origin) -> Iterator[Path]:
    """Yield the files that were read and are not what they were; nothing else is looked at."""
    return (Path(name) for name, state in origin.files.items() if not is_unchanged(Path(name), state))


def changed_packages(origin: Origin) -> dict[str, str | None]:
    """Return the present versions of the imported packages that were installed in others."""
    now = versions(origin.packages)
    return {name: version for name, version in now.items() if version != origin.packages[name]}


def _moved_modules(origin: Origin, source: Source) -> Iterator[Path]:
    if source.is_zoo:
        return
    for module, file in origin.modules.items():
        place = find_users_module(module, source.code_folders) if module.isidentifier() else None
        if place is not None and str(place) != file and not _is_of_environment(place, source):
            yield place


def _is_of_environment(file: Path, source: Source) -> bool:
    """Whether a module was not found in the folders of the user's code; finders that only workers have may differ."""
    return not any(file.is_relative_to(folder) for folder in source.code_folders)


def _candidates(key: str, output: Path | None) -> tuple[Path, ...]:
    if output is None:
        return bundles.with_key(key)
    if not is_file(output / bundles.CARD) or bundles.load_card(output).key != key:
        return ()
    return (output.absolute(),)


Notify: TypeAlias = Callable[[ExportNotice], None]


def bundle_facts(card: Card, changed: Iterable[Path] = ()) -> dict[str, Any]:
    """Return which bundle it is, of which time, what it was made from and how, and which files changed since."""
    return {
        "name": card.bundle.name,
        "created": card.created,
        "source": card.bundle.source,
        "location": card.bundle.source if card.origin is None else card.origin.location,
        "options": {} if card.origin is None else _chosen_options(card.origin),
        "files": tuple(str(path) for path in changed),
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
    return BundleUsed(**bundle_facts(card))


def source_changed(existing: ExistingBundle) -> ExportNotice:
    """Return that a bundle is made again, and which files are the reason, or which packages where no file is."""
    facts = bundle_facts(existing.card, existing.changed)
    if existing.changed:
        return SourceChanged(**facts)
    return ToolsChanged(**facts, tools=existing.packages)
