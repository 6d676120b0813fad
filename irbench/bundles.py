"""Bundles on disk: a card beside the files it describes, versions under a name, one pointer to the current one.

Layout, under :func:`home`::

    bundles/<name>/<version>/card.json, model.onnx, ...      a version is written once and never changed
    bundles/<name>/.current                                  one line: the version that the name means
    bundles/.latest                                          one line: name/version of the last export
    intact/<digest of a folder's path>.json                  what its files were when they were last compared

Everything is put in place by a rename, so a reader sees the old state or the new one, never half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from pathlib import Path

from irbench.bundle_replacement import ELSEWHERE, put_elsewhere, require_replaceable
from irbench.card import (
    CARD,
    Card,
    Origin,
    digest,
    load,
    load_card,
    reference_outputs,
    with_absolute_paths,
    write_card,
)
from irbench.errors import IrbenchError
from irbench.spec import Bundle
from irbench.system.files import move_folder, write_atomically

__all__ = [
    "CARD",
    "Card",
    "Origin",
    "all",
    "digest",
    "find",
    "home",
    "install",
    "is_in_cache",
    "latest",
    "load",
    "load_card",
    "load_intact",
    "point_to",
    "reference_outputs",
    "require_replaceable",
    "staging",
    "with_absolute_paths",
    "with_key",
]

_CURRENT, _LATEST = ".current", ".latest"  # no bundle can have such a name
_STAGING = ".irbench-making-"
_MOST_BYTES = 1 << 20


def home() -> Path:
    """Return irbench's folder: ``IRBENCH_HOME``, or one in the user's cache folder."""
    chosen = os.environ.get("IRBENCH_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("irbench", appauthor=False)


def find(name: str) -> Path | None:
    """Return the folder of the current version of the bundle called ``name``."""
    if not _is_name(name):
        return None
    version = _read(_root() / name / _CURRENT)
    return _existing(_root() / name / version) if _is_name(version) else None


def is_in_cache(folder: Path) -> bool:
    """Return whether a folder is one of those that exports without a folder of their own are put into."""
    return folder.absolute().is_relative_to(_root())


def latest() -> Path | None:
    """Return the folder of the bundle that was exported last, ``None`` where nothing was exported.

    Raises:
        IrbenchError: It does not exist any more.
    """
    pointer = _read(_root() / _LATEST)
    if not pointer:
        return None
    name, _, version = pointer.partition("/")
    folder = _existing(_root() / name / version) if _is_name(name) and _is_name(version) else None
    if folder is None:
        raise IrbenchError(f"The last export, {pointer}, no longer exists.", hint="Give a model: irbench run MODEL")
    return folder


def all() -> tuple[Path, ...]:  # noqa: A001 - read as bundles.all()
    """Return the folder of the current version of every bundle, sorted by name."""
    root = _root()
    names = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return tuple(folder for folder in map(find, names) if folder is not None)


def with_key(key: str) -> tuple[Path, ...]:
    """Return the folders of the bundles that were made for the same request, current or not, the newest first.

    What was read to make them may have been different, or may have changed since.
    """
    found = {file.parent: load_card(file.parent) for file in _root().glob(f"*/{key[:16]}-*/{CARD}")}
    alike = (folder for folder, card in found.items() if card.key == key)
    return tuple(sorted(alike, key=lambda folder: found[folder].created, reverse=True))


def staging(target: Path | None = None) -> Path:
    """Return a new empty folder on the file system where the bundle will end up."""
    parent = _root() if target is None else target.resolve().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(parent)
        folder = parent / f"{_STAGING}{os.getpid()}-{secrets.token_hex(4)}"
        folder.mkdir()
    except OSError as error:
        own = target is None or target.absolute().is_relative_to(home().absolute())
        hint = "Set IRBENCH_HOME to a folder that you can write." if own else ELSEWHERE
        raise IrbenchError(f"{parent} cannot be written: {error.strerror or error}.", hint=hint) from error
    return folder


def install(folder: Path, card: Card, target: Path | None = None) -> Path:
    """Move a finished staging folder to its place and make it the current one.

    Args:
        folder: From :func:`staging`; holds every file but the card.
        card: Written into it first.
        target: The place; without it a new version under the bundle's name.

    Returns:
        The bundle's folder.

    Raises:
        IrbenchError: ``target`` holds other files, or cannot be replaced; it is as it was.
    """
    write_card(card, folder)
    if target is not None:
        return put_elsewhere(folder, target)
    home_of_name = _root() / card.bundle.name
    home_of_name.mkdir(parents=True, exist_ok=True)
    superseded = _made_alike(home_of_name, card)
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
    """Make the version in ``place`` what its name means, and the last export; nothing for a bundle elsewhere."""
    if place.parent.parent != _root():
        return
    write_atomically(place.parent / _CURRENT, place.name.encode())
    write_atomically(_root() / _LATEST, f"{place.parent.name}/{place.name}".encode())


def load_intact(directory: Path) -> Bundle:
    """Return the bundle in ``directory`` after comparing its files with its card.

    Files of the size and times of change that they had when they were last compared are not read again.

    Raises:
        IrbenchError: It holds no bundle, or a file is missing or not what was written.
    """
    directory = directory.absolute()
    card = load_card(directory)
    remembered = home() / "intact" / f"{hashlib.sha256(os.fsencode(directory)).hexdigest()[:32]}.json"
    state = json.dumps({name: [expected, *_stamp(directory / name)] for name, expected in card.checksums.items()})
    for path in _files(card.bundle):
        if path.name not in card.checksums:
            raise _damaged(path, card.bundle)
    if state != _read(remembered):
        for name, expected in card.checksums.items():
            if not _is_intact(directory / name, expected):
                raise _damaged(directory / name, card.bundle)
        with contextlib.suppress(OSError):  # without a memory the next run compares again
            remembered.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(remembered, state.encode())
    return card.bundle


def _files(bundle: Bundle) -> tuple[Path, ...]:
    reference = () if bundle.reference is None else (bundle.reference,)
    return (*(artifact.path for artifact in bundle.artifacts), *reference)


def _is_intact(path: Path, expected: str) -> bool:
    try:
        return path.is_file() and digest(path) == expected
    except OSError:
        return False


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _damaged(path: Path, bundle: Bundle) -> IrbenchError:
    kept = "" if path.is_relative_to(_root()) else f" -o {path.parent}"
    return IrbenchError(
        f"{path} is missing or has changed since the export.",
        hint=f"Export it again: irbench export {bundle.source or bundle.name} --force{kept}",
    )


def _root() -> Path:
    return home() / "bundles"


def _is_name(name: str) -> bool:
    return bool(name) and not name.startswith(".") and Path(name).name == name


def _existing(folder: Path) -> Path | None:
    try:
        return folder if (folder / CARD).is_file() else None
    except OSError:  # a name too long for any folder
        return None


def _read(path: Path) -> str:
    """Return the text of a small file, nothing where there is none."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""


def _clear_leftovers(parent: Path) -> None:
    """Remove what exports left behind that were killed."""
    import psutil

    for folder in parent.glob(f"{_STAGING}*-*"):
        process = folder.name.removeprefix(_STAGING).split("-")[0]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
