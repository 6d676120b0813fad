"""The run document as JSON, and its JSON Schema, which ships beside this file as ``run.schema.json``."""

from __future__ import annotations

import math
import re
import sys
from contextlib import suppress
from datetime import datetime
from functools import cache
from inspect import cleandoc
from typing import Any

import msgspec

from irbench.core.result import SCHEMA_VERSION, GroupResult, RunDocument
from irbench.errors import IrbenchError
from irbench.store.folders import is_ulid, seconds_of
from irbench.system.document_damage import damage_text, refuse_newer
from irbench.system.prepared_types import prepared

_DEEPEST, _LARGEST = 100, 1 << 63
_MOST_DIGITS = len(str(_LARGEST))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRING_OF_MARKS = re.compile(rb'"[^"]*+"')
_LONG_NUMBER = re.compile(rb"[-+.\deE]{%d,}" % _MOST_DIGITS)
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_MARKS = bytes(set(range(256)) - set(b'{}[]"'))
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * _MOST_DIGITS


def require_bounded(data: bytes) -> None:
    """Refuse nesting and figures that no document of ours has, and that what reads one would fail on.

    Raises:
        ValueError: Lists or objects are nested too deeply, or an integer does not fit into 64 bits.
    """
    brackets = _brackets(data)
    for _ in range(_DEEPEST):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            break
    else:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    # digits behind a point are not an integer, and most documents have no others of such a length
    if _LONG not in data.translate(_DIGITS).replace(b"." + _LONG, b"."):
        return
    for number in _LONG_NUMBER.finditer(_STRING.sub(b"", data)):
        if _is_too_large(number[0]):
            raise ValueError("it contains an integer of more than 64 bits")


def _brackets(data: bytes) -> bytes:
    """Return the brackets of lists and objects, in their order, as those of lists."""
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    marks = data.translate(_ALIKE, _NO_MARKS)
    brackets = marks.replace(b'""', b"")
    # the first string with a bracket in it keeps its opening quote, and all strings before it are gone
    return _STRING_OF_MARKS.sub(b"", marks) if b'"' in brackets else brackets


def _is_too_large(number: bytes) -> bool:
    digits = number.removeprefix(b"-")
    return digits.isdigit() and (len(digits) > _MOST_DIGITS or not -_LARGEST <= int(number) < _LARGEST)


_LAUNCH_FILE = re.compile(r"launch-\d+-\d+(-sustained)?\.bin", re.ASCII)


def encode_document(document: RunDocument) -> bytes:
    """Return the document as indented JSON.

    JSON has no infinity: the largest double stands for it, so that a number stays a number. NaN becomes null.
    """
    plain = representable(msgspec.to_builtins(document))
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"


def decode_document(data: bytes, name: str) -> RunDocument:
    """Return the document that ``data`` holds."""
    try:
        document = _decoded(data, name)
        require_bounded(data)
        _require_sense(document)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IrbenchError(
            f"{name} is damaged, or not a run document: {damage_text(error)}.",
            hint="Restore it from a copy, or delete the run's folder; other runs are not affected.",
        ) from error
    return document


def _decoded(data: bytes, name: str) -> RunDocument:
    """Return what ``data`` holds; most documents are of this format, and are not searched for their format first."""
    with suppress(msgspec.ValidationError):
        document = _decoder().decode(data)
        if document.schema_version == SCHEMA_VERSION:
            return document
    version = msgspec.json.decode(data, type=prepared(_RunVersion)).schema_version
    refuse_newer(name, version, SCHEMA_VERSION)
    if version < SCHEMA_VERSION:
        raise IrbenchError(
            f"{name} is of format {version}, which this irbench does not read (it reads format {SCHEMA_VERSION}).",
            hint="Measure again; other runs are not affected.",
        )
    return _decoder().decode(data)


@cache
def _decoder() -> msgspec.json.Decoder[RunDocument]:
    return msgspec.json.Decoder(prepared(RunDocument))


def json_schema() -> bytes:
    """Return the JSON Schema of the run document, generated from its classes."""
    return schema_of(RunDocument, "irbench run")


def schema_of(document: type[Any], title: str) -> bytes:
    """Return the JSON Schema (draft 2020-12) of a document that msgspec reads."""
    schema = _with_clean_descriptions(msgspec.json.schema(document))
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}
    return msgspec.json.format(msgspec.json.encode(whole, order="sorted"), indent=1) + b"\n"


def _with_clean_descriptions(schema: Any) -> Any:
    """Return a schema without the indentation of docstrings, which Python removes from 3.13 on only."""
    if isinstance(schema, dict):
        return {
            key: cleandoc(value) if key == "description" and isinstance(value, str) else _with_clean_descriptions(value)
            for key, value in schema.items()
        }
    return [_with_clean_descriptions(value) for value in schema] if isinstance(schema, list | tuple) else schema


def _require_sense(document: RunDocument) -> None:
    """Refuse what the types allow and no irbench writes, so that readers may rely on it."""
    if not is_ulid(document.run_id):
        raise ValueError(f"{document.run_id!r} is not a valid run id")
    created = datetime.fromisoformat(document.created)
    if created.tzinfo is None or created.utcoffset():
        raise ValueError(f"{document.created!r} is not in UTC")
    if int(created.timestamp()) != seconds_of(document.run_id):
        raise ValueError(f"{document.run_id} was not made at {document.created}")
    for name in document.launches:
        if _LAUNCH_FILE.fullmatch(name) is None:
            raise ValueError(f"{name!r} is not a valid name of a launch")
    for group in document.groups:
        _require_table(group)


def _require_table(group: GroupResult) -> None:
    """Raise ValueError where a row has an empty batch, or who leads is not one of the rows."""
    for cell in group.cells:
        if cell.batch < 1:
            raise ValueError(f"{cell.id} has batches of {cell.batch}")
    rows = {cell.id for cell in group.cells}
    for what, lead in (("winner", group.winner), ("leader", group.lead)):
        if lead is not None and not rows.issuperset((lead.cell, lead.rival)):
            raise ValueError(f"the {what} of {group.model} is not in its rows")
    uneven = group.uneven_load
    if uneven is not None and not rows.issuperset((uneven.more, uneven.less)):
        raise ValueError(f"other programs ran beside a row that is not in those of {group.model}")


def representable(value: Any) -> Any:
    """Return a value of JSON with numbers that JSON has: the largest double for infinity, and null for NaN."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return min(max(value, -sys.float_info.max), sys.float_info.max)
    if isinstance(value, dict):
        return {key: representable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [representable(inner) for inner in value]
    return value


class _RunVersion(msgspec.Struct):
    schema_version: int
