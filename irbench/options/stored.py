"""Options as a run document holds them: as they were asked for, so that the same can be asked again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from irbench.options import kinds
from irbench.options.kinds import Kind
from irbench.options.run import RUN, RunOptions

_NOT_STORED = ("all", "no_lock", "results")
"""What says where and when rather than what; ``all`` has become models."""


def stored_form(options: RunOptions) -> dict[str, Any]:
    """Return the options that were given, as values of JSON; arrays in memory are left out."""
    usual = RunOptions()
    held = {name: getattr(options, name) for name in _stored_types()}
    given = {name: value for name, value in held.items() if value != getattr(usual, name)}
    if isinstance(given.get("data"), tuple):
        del given["data"]
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(given, enc_hook=str))  # as it is read again
    return plain


def options_of(stored: Mapping[str, Any]) -> RunOptions:
    """Return the options that :func:`stored_form` made values of; they name no model.

    Raises:
        ValueError: A name or a value is none that irbench writes.
    """
    types = _stored_types()
    unknown = next((name for name in stored if name not in types), None)
    if unknown is not None:
        raise ValueError(f"it has no option {unknown!r}")
    held = {name: msgspec.convert(value, types[name], dec_hook=_read) for name, value in stored.items()}
    for name, value in held.items():
        _require_readable(RUN.options[name].kind, value)
    return RunOptions(**held)


def _require_readable(kind: Kind[Any], value: Any) -> None:
    """Refuse a value that nobody could have given; raises what the kind's reader does."""
    if value is not None and kind is not kinds.VARIED:  # of these a search stores single values, too
        kind.read(kind.written(value))


def _stored_types() -> dict[str, Any]:
    types = get_type_hints(RunOptions, localns={"DataSource": Path})  # arrays in memory are not stored
    return {name: types[name] for name in RUN.options if name not in _NOT_STORED}


def _read(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"{value!r} is not a path")
