"""Documents and archives that cannot be read: of a newer format, or damaged, told without words of a library."""

from __future__ import annotations

import json
import re
import struct
import zlib
from gzip import BadGzipFile
from pathlib import Path
from tarfile import TarError

import msgspec

from irbench.errors import IrbenchError
from irbench.system.installation import upgrade_hint

_MISSING = re.compile(r"missing required field `([^`]+)`")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_PLACE = re.compile(r" - at `\$\.?([^`]+)`$")
_PACKED = (BadGzipFile, TarError, zlib.error, struct.error)


def damage_text(error: Exception) -> str:
    """Return what is wrong, as the rest of a sentence: ``the field bundle is missing``.

    The words of errors of irbench's own are taken as they are.
    """
    if isinstance(error, msgspec.ValidationError):
        return _misfit(str(error))
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, msgspec.DecodeError | json.JSONDecodeError):
        return "it is not valid JSON"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, EOFError):
        return "it is cut short"
    if isinstance(error, _PACKED):
        return "its content is damaged"
    if isinstance(error, OSError):
        return error.strerror or "it cannot be read"
    return str(error)


def refuse_newer(name: str, version: int, newest: int) -> None:
    """Refuse a document whose format is newer than the newest that this irbench reads."""
    if version > newest:
        raise IrbenchError(
            f"{name} was written by a newer irbench (format {version}; this one reads up to {newest}).",
            hint=upgrade_hint(),
        )


def named_by_archive(text: str, unpacked: Path, archive: Path | str) -> str:
    """Return a text that names files of an archive by it, and not by where they were unpacked for a moment."""
    return text.replace(f"{unpacked}/", f"{archive}: ")


def _misfit(said: str) -> str:
    """Return what msgspec says of a value: the field and the place are what a reader needs of it."""
    missing, unknown, place = _MISSING.search(said), _UNKNOWN.search(said), _PLACE.search(said)
    inside = f" at {place[1]}" if place else ""
    if unknown is not None:
        return f"there is no field {unknown[1]}{inside}"
    if missing is not None:
        return f"the field {missing[1]}{inside} is missing"
    return f"the value{inside} is not of the type that it must have"
