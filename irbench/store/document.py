"""The run document as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from irbench.errors import IrbenchError
from irbench.result import SCHEMA_VERSION, RunDocument

__all__ = ["decode_document", "encode_document", "json_schema"]


def encode_document(document: RunDocument) -> bytes:
    """Return the document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def decode_document(data: bytes, name: str) -> RunDocument:
    """Return the document that ``data`` holds.

    Args:
        data: JSON.
        name: What to call it in an error.

    Raises:
        IrbenchError: It was written by a newer irbench, or is no run document.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            raise IrbenchError(
                f"{name} was written by a newer irbench (format {version}; this one reads up to {SCHEMA_VERSION}).",
                hint="Update irbench: pip install --upgrade irbench",
            )
        return msgspec.json.decode(data, type=RunDocument)
    except msgspec.MsgspecError as error:
        raise IrbenchError(
            f"{name} is no run document: {error}", hint="The folder is damaged; remove it or restore it."
        ) from None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the run document, generated from its classes."""
    schema = msgspec.json.schema(RunDocument)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "irbench run", **schema}


class _Version(msgspec.Struct):
    schema_version: int
