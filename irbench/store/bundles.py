"""Bundles on disk: a card beside the files it describes, versions under a name, one pointer to the current one.

Layout, under :func:`irbench.system.home.home`::

    bundles/<name>/<version>/card.json, model.onnx, ...      a version is written once and never changed
    bundles/<name>/.current                                  one line: the version that the name means
    bundles/.latest                                          one line: name/version of the last export
    intact/<digest of a folder's path>.json                  what its files were when they were last compared

Everything is put in place by a rename, so a reader sees the old state or the new one, never half of one.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

import msgspec

from irbench.errors import IrbenchError
from irbench.spec import Bundle
from irbench.store.card import CARD, Card, Origin, load, load_card, reference_outputs, with_absolute_paths, write_card
from irbench.system.file_access import move_folder, read_regular, replace_folder, write_atomically
from irbench.system.file_states import FileState, digest, is_file, is_unchanged
from irbench.system.home import home, homes
from irbench.system.locks import temporary_folder
from irbench.system.prepared_types import prepared

ELSEWHERE = "Give another path with -o."
__all__ = [
    "CARD",
    "Card",
    "Origin",
    "digest",
    "home",
    "homes",
    "load",
    "load_card",
    "reference_outputs",
    "with_absolute_paths",
]
_FOLDER = "bundles"
_CURRENT = ".current"  # no bundle can have such a name
_LATEST = ".latest"
_STAGING = ".irbench-making-"
_MOST_BYTES = 1 << 20
_INTACT_FOLDER = "intact"
_MOST_INTACT_BYTES = 1 << 24
COARSEST_CLOCK_NS = 2_000_000_000
"""Of file systems in use, FAT keeps times most coarsely: two changes within 2 s may have the same time."""


def require_replaceable(target: Path) -> None:
    """Refuse a folder that holds more than the bundle which an export into it would replace."""
    try:
        if not target.is_dir() and (target.exists() or target.is_symlink()):
            raise IrbenchError(
                f"{target} is not a folder, and irbench does not overwrite it.", hint="Choose a new or empty folder."
            )
        names = _names_of_bundle(target)
        entries = sorted(target.iterdir()) if target.is_dir() else []
        others = [path.name for path in entries if not _belongs(path, names)]
    except OSError as error:
        raise IrbenchError(f"{target} cannot be read: {error.strerror or error}.", hint=ELSEWHERE) from error
    if others:
        raise IrbenchError(
            f"{target} holds {others[0]}, which is not part of a bundle, so irbench does not overwrite it.",
            hint="Choose a new or empty folder, or move your files.",
        )


def put_elsewhere(folder: Path, target: Path) -> Path:
    """Move a finished bundle from its staging folder to ``target``, in the place of a bundle that is there."""
    require_replaceable(target)
    try:
        replace_folder(folder, target.resolve())
    except OSError as error:
        raise IrbenchError(f"{target} cannot be written: {error.strerror or error}.", hint=ELSEWHERE) from error
    return target.absolute()


def _belongs(path: Path, names: set[str]) -> bool:
    return path.name in names and path.is_file()


def _names_of_bundle(directory: Path) -> set[str]:
    """Return the names of the files that make up the bundle in ``directory``; of none where it holds no card."""
    if not (directory / CARD).is_file():
        return set()
    try:
        return {CARD, *load_card(directory).checksums}
    except IrbenchError as error:
        raise IrbenchError(
            f"{directory} is not overwritten, because its contents are unknown: {error.message}",
            hint="Choose a new or empty folder, or delete this one.",
        ) from error


def first_damaged(directory: Path, checksums: Mapping[str, str]) -> Path | None:
    """Return a file of a folder that is missing or not what was written; ``None`` where all are intact.

    A large file that has the size and times of change which it had when it was last compared is not read again: no
    program sets back when an inode was changed. A file that had been changed only just before it was compared is read
    again, since another change within a tick of the clock would leave no sign.

    Args:
        directory: The folder, as an absolute path.
        checksums: SHA-256 of each file, by file name.
    """
    memory = Path(_INTACT_FOLDER, f"{hashlib.sha256(os.fsencode(directory)).hexdigest()[:32]}.json")
    known = next(filter(None, (_read(place / memory) for place in homes())), {})
    if builtins.all(_is_known(directory / name, expected, known) for name, expected in checksums.items()):
        return None
    now_ns = _now_ns()
    states: dict[str, FileState] = {}
    for name, expected in checksums.items():
        state = _state(directory / name)
        if state is None or state.sha256 != expected:
            return directory / name
        states[name] = state
    if now_ns is not None:
        settled_ns = now_ns - COARSEST_CLOCK_NS
        settled = {name: state for name, state in states.items() if state.inode_changed_ns < settled_ns}
        with contextlib.suppress(OSError):  # without a memory the next use compares again
            write_atomically(home() / memory, msgspec.json.encode(settled))
    return None


def _is_known(path: Path, expected: str, known: Mapping[str, FileState]) -> bool:
    state = known.get(path.name)
    return state is not None and state.sha256 == expected and is_unchanged(path, state)


def _state(path: Path) -> FileState | None:
    """Return what a file contains now; its times are those from before it was read."""
    try:
        status = path.stat()
        return (
            FileState(digest(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns) if path.is_file() else None
        )
    except OSError:
        return None


def _now_ns() -> int | None:
    """Return the time as file systems keep it, in nanoseconds since 1970; ``None`` where nothing can be remembered."""
    folder = home() / _INTACT_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_ctime_ns
    except OSError:
        return None


def _read(memory: Path) -> dict[str, FileState]:
    """Return the states of files when they were last compared; of none where that is not known."""
    try:
        return msgspec.json.decode(read_regular(memory, _MOST_INTACT_BYTES), type=prepared(dict[str, FileState]))
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return {}


def find(name: str) -> Path | None:
    """Return the folder of the current version of the bundle called ``name``."""
    if not _is_name(name):
        return None
    return _place(name, _pointer(Path(name, _CURRENT)))


def is_in_cache(folder: Path) -> bool:
    """Return whether a folder is one of those that exports without a folder of their own are put into."""
    return any(folder.absolute().is_relative_to(root) for root in _roots())


def latest() -> Path | None:
    """Return the folder of the bundle that was exported last, ``None`` where nothing was exported."""
    pointer = _pointer(Path(_LATEST))
    if not pointer:
        return None
    name, _, version = pointer.partition("/")
    folder = _place(name, version)
    if folder is None:
        raise IrbenchError(f"The last export, {pointer}, no longer exists.", hint="Give a model: irbench run MODEL")
    return folder


def all() -> tuple[Path, ...]:  # noqa: A001 - read as bundles.all()
    """Return the folder of the current version of every bundle, sorted by name."""
    names = {path.name for root in _roots() for path in _entries(root)}
    return tuple(folder for folder in map(find, sorted(names)) if folder is not None)


def by_export() -> tuple[Path, ...]:
    """Return the same folders as :func:`all`, the one that an export made or found there last coming first."""
    return tuple(sorted(all(), key=_pointed_ns, reverse=True))


def versions_with_key(key: str) -> frozenset[Path]:
    """Return the folders of all versions that were made for the same request, also of those that are damaged."""
    return frozenset(folder for root in _roots() for folder in root.glob(f"*/{key[:16]}-*"))


def _pointed_ns(folder: Path) -> int:
    """Return when a version became what its name means, in nanoseconds since 1970."""
    for root in _roots():
        with contextlib.suppress(OSError):
            return (root / folder.parent.name / _CURRENT).stat().st_mtime_ns
    return 0


def with_key(key: str) -> tuple[Path, ...]:
    """Return the folders of the bundles that were made for the same request, current or not, the newest first.

    What was read to make them may have been different, or may have changed since.
    """
    files = (file for root in _roots() for file in root.glob(f"*/{key[:16]}-*/{CARD}"))
    cards = {file.parent: load_card(file.parent) for file in files}
    alike = (folder for folder, card in cards.items() if card.key == key)
    return tuple(sorted(alike, key=lambda folder: cards[folder].created, reverse=True))


@contextlib.contextmanager
def staging(target: Path | None = None) -> Iterator[Path]:
    """Yield a new empty folder on the file system where the bundle will end up; it is gone afterwards."""
    parent = _root() if target is None else target.resolve().parent
    with contextlib.ExitStack() as stack:
        with _written(parent, target):
            parent.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(temporary_folder(parent, _STAGING)) / "bundle"
            folder.mkdir()
        yield folder


@contextlib.contextmanager
def _written(folder: Path, target: Path | None) -> Iterator[None]:
    """Turn a failure to write ``folder``, in which a bundle ends up, into an error that says how to fix it."""
    try:
        yield
    except OSError as error:
        own = target is None or any(target.absolute().is_relative_to(kept) for kept in homes())
        hint = "Set IRBENCH_HOME to a folder that you can write." if own else ELSEWHERE
        raise IrbenchError(f"{folder} cannot be written: {error.strerror or error}.", hint=hint) from error


def install(folder: Path, card: Card, target: Path | None = None, replaced: frozenset[Path] | None = None) -> Path:
    """Move a finished staging folder to its place and make it the current one.

    Args:
        folder: From :func:`staging`; holds every file but the card.
        card: Written into it first.
        target: The place; without it a new version under the bundle's name.
        replaced: Versions that are removed where this one was made of the same content; ``None`` for every such one.
            One that another process has made in the meantime must stay: it has told its user where that is.

    Returns:
        The bundle's folder.
    """
    home_of_name = _root() / card.bundle.name if target is None else target.parent
    with _written(home_of_name, target):
        write_card(card, folder)
        if target is not None:
            return put_elsewhere(folder, target)
        home_of_name.mkdir(parents=True, exist_ok=True)
        alike = _made_alike(home_of_name, card)
        superseded = alike if replaced is None else replaced.intersection(alike)
        place = home_of_name / f"{card.key[:16]}-{secrets.token_hex(4)}"
        move_folder(folder, place)
        point_to(place)
    for old in superseded:
        shutil.rmtree(old, ignore_errors=True)
    return place


def _made_alike(home_of_name: Path, card: Card) -> list[Path]:
    """Return the versions of a name that an export of the same content replaces; others may be needed again."""
    read = None if card.origin is None else _contents(card.origin)
    versions = [file.parent for file in home_of_name.glob(f"{card.key[:16]}-*/{CARD}")]
    return [version for version in versions if _origin_contents(version) in (None, read)]


def _origin_contents(version: Path) -> dict[str, str] | None:
    """Return the checksums of what a version was made from; ``None`` where it does not say, or is damaged."""
    try:
        origin = load_card(version).origin
    except IrbenchError:
        return None
    return None if origin is None else _contents(origin)


def _contents(origin: Origin) -> dict[str, str]:
    return {path: state.sha256 for path, state in origin.files.items()}


def point_to(place: Path) -> None:
    """Make the version in ``place`` what its name means, and the last export; nothing for a bundle elsewhere.

    Of a bundle that lies where nothing can be written, the folder that stands in remembers it.

    Raises:
        OSError: That cannot be written down.
    """
    if place.parent.parent not in _roots():
        return
    name = _root() / place.parent.name
    name.mkdir(parents=True, exist_ok=True)
    write_atomically(name / _CURRENT, place.name.encode())
    write_atomically(_root() / _LATEST, f"{name.name}/{place.name}".encode())


def load_intact(directory: Path) -> Bundle:
    """Return the bundle in ``directory`` after comparing its files with its card."""
    directory = directory.absolute()
    card = load_card(directory)
    unknown = (path for path in _files(card.bundle) if path.name not in card.checksums)
    damaged = next(unknown, None) or first_damaged(directory, card.checksums)
    if damaged is not None:
        raise _damaged(damaged, card.bundle)
    return card.bundle


def _files(bundle: Bundle) -> tuple[Path, ...]:
    reference = () if bundle.reference is None else (bundle.reference,)
    return (*(artifact.path for artifact in bundle.artifacts), *reference)


def _damaged(path: Path, bundle: Bundle) -> IrbenchError:
    kept = "" if is_in_cache(path) else f" -o {path.parent}"
    return IrbenchError(
        f"{path} is missing or has changed since the export.",
        hint=f"Export it again: irbench export {quote(bundle.source or bundle.name)} --force{kept}",
    )


def _root() -> Path:
    return home() / _FOLDER


def _roots() -> tuple[Path, ...]:
    return tuple(folder / _FOLDER for folder in homes())


def _is_name(name: str) -> bool:
    return bool(name) and not name.startswith(".") and Path(name).name == name


def _place(name: str, version: str) -> Path | None:
    if not (_is_name(name) and _is_name(version)):
        return None
    places = (root / name / version for root in _roots())
    return next((place for place in places if is_file(place / CARD)), None)


def _pointer(path: Path) -> str:
    for root in _roots():
        with contextlib.suppress(OSError):
            return read_regular(root / path, _MOST_BYTES).decode(errors="replace").strip()
    return ""


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
