"""The document of a profile as JSON, and its JSON Schema, which ships beside this file as ``profile.schema.json``."""

from __future__ import annotations

import msgspec

from irbench.errors import IrbenchError
from irbench.profiling.record import PROFILE_VERSION, LaunchLatencies, ProfiledCell, ProfileDocument
from irbench.stats.intervals import MOST_LAUNCHES
from irbench.store.document import representable, schema_of
from irbench.system.document_damage import damage_text


def encode_profile(document: ProfileDocument) -> bytes:
    """Return the document as JSON, indented."""
    plain = representable(msgspec.to_builtins(document))
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"


def decode_profile(data: bytes, name: str) -> ProfileDocument:
    """Return the document that ``data`` holds.

    Args:
        data: JSON.
        name: What to call it in an error.

    Raises:
        IrbenchError: It was written by a newer irbench, or is no profile.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).profile_version
        if version > PROFILE_VERSION:
            raise IrbenchError(
                f"{name} was written by a newer irbench (format {version}; this one reads up to {PROFILE_VERSION}).",
                hint="Update irbench: pip install --upgrade irbench",
            )
        document = msgspec.json.decode(data, type=ProfileDocument)
        _require_sense(document)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IrbenchError(
            f"{name} is damaged, or not a profile: {damage_text(error)}.",
            hint="Profile the model again: irbench profile MODEL",
        ) from error
    return document


def profile_schema() -> bytes:
    """Return the JSON Schema of the document, generated from its classes."""
    return schema_of(ProfileDocument, "irbench profile")


def _require_sense(document: ProfileDocument) -> None:
    """Refuse what the types allow and no irbench writes, so that readers may rely on it.

    Raises:
        ValueError: There are too many launches for an interval, cells share an id, a cell's figures do not fit its
            launches, or counters are of no operator or of no cell.
    """
    if not 1 <= document.launches <= MOST_LAUNCHES:
        raise ValueError(f"it has {document.launches} launches, and at most {MOST_LAUNCHES} are possible")
    if len({cell.id for cell in document.cells}) < len(document.cells):
        raise ValueError("two cells have the same id")
    for cell in document.cells:
        if not _is_sound(cell):
            raise ValueError(f"the figures of {cell.id} do not fit its launches")
    operators = {cell.id: len(cell.operators) for cell in document.cells}
    if document.counters is None:
        return
    if not operators.keys() >= {*document.counters.failures, *document.counters.whole_only}:
        raise ValueError("counters are of a cell that is not there")
    for part in document.counters.parts:
        if part.cell not in operators or not all(0 <= place < operators[part.cell] for place in part.operators):
            raise ValueError(f"the counters of {part.id} are of no operator")


def _is_sound(cell: ProfiledCell) -> bool:
    launches = len(cell.launches)
    return (
        all(len(operator.duration_ns) == launches for operator in cell.operators)
        and all(map(_is_sound_launch, cell.launches))
        and all(0 <= span.operator < len(cell.operators) for span in cell.timeline)
    )


def _is_sound_launch(launch: LaunchLatencies) -> bool:
    calls = len(launch.profiled_ns)
    return bool(launch.counted and launch.plain_ns and min(launch.plain_ns) > 0) and all(
        0 <= place < calls for place in launch.counted
    )


class _Version(msgspec.Struct):
    profile_version: int
