"""Options as a run document holds them: as they were asked for, so that the same can be asked again.

Most stand in the plan, where users read them, and the others beside it: none is stored twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec

from irbench.core.address import BackendAddress
from irbench.core.stored_plan import StoredPlan
from irbench.options import kinds
from irbench.options.kinds import Kind
from irbench.options.option import CommandOptions
from irbench.options.run import RUN, RunOptions
from irbench.options.values import varied_in
from irbench.system.prepared_types import prepared

C = TypeVar("C")
_NOT_STORED = ("all", "no_lock", "results")
"""What says where and when rather than what; ``all`` has become models."""


SHOWN: Mapping[str, str] = {
    "batches": "batch",
    "precisions": "precision",
    "variants": "optimize",
    "options": "set",
    "shapes": "shape",
    "values": "value",
    "sweep": "shapes",
    "alternatives": "vary",
    **{
        name: name
        for name in (
            "backends", "cells", "data", "feedback", "streams", "instances", "threads", "cpus", "io", "rows",
            "baseline", "allow_mixed", "apart", "require_full", "seed", "cold", "name", "note",
        )
    },
}  # fmt: skip
"""Options by the keys of a plan that hold their values."""


def stored_form(options: RunOptions) -> dict[str, Any]:
    """Return the options that were given and that no plan shows, as values of JSON."""
    usual = RunOptions()
    values = {name: getattr(options, name) for name in _stored_types() if name not in SHOWN.values()}
    chosen = {name: value for name, value in values.items() if value != getattr(usual, name)}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(chosen, enc_hook=str))  # as it is read again
    return plain


def options_of(plan: StoredPlan) -> RunOptions:
    """Return the options that a plan shows, and those that :func:`stored_form` made its ``asked`` of; without models.

    Raises:
        ValueError: A name or a value is none that irbench writes.
    """
    types, beside = _stored_types(), plan.asked or {}
    wrong = next((name for name in beside if name not in types or name in SHOWN.values()), None)
    if wrong is not None:
        raise ValueError(f"it has no option {wrong!r}")
    stored = {**_shown(plan), **beside}
    values = {name: msgspec.convert(value, prepared(types[name]), dec_hook=_read) for name, value in stored.items()}
    for name, value in values.items():
        _require_readable(RUN.options[name].kind, value)
    return RunOptions(**values)


def own_options_of(command: CommandOptions[C], stored: Mapping[str, Any]) -> C:
    """Return the own options of a command, all of which a plan holds as values of JSON.

    Raises:
        ValueError: A name or a value is none that irbench writes.
    """
    wrong = next((name for name in stored if name not in command.own_options), None)
    if wrong is not None:
        raise ValueError(f"it has no option {wrong!r}")
    own = msgspec.convert(stored, prepared(command.own))
    for name, declared in command.own_options.items():
        value = getattr(own, name)
        if value != declared.default:
            _require_readable(declared.kind, value)
    return own


_USUAL = StoredPlan()


def _shown(plan: StoredPlan) -> dict[str, Any]:
    options = {name: value for key, name in SHOWN.items() if (value := getattr(plan, key)) != getattr(_USUAL, key)}
    if plan.backends or plan.cells:
        options["backends"] = [str(BackendAddress.parse(each)) for each in plan.backends] or ["none"]
    if plan.divides_threads:
        options.pop("threads", None)  # instances share the default
    elif "threads" in options:
        options["threads"] = ["native" if count is None else count for count in options["threads"]]
    if "vary" in options:
        options["vary"] = varied_in(options["vary"])
    if "shapes" in options:
        (options["shapes"],) = options["shapes"].items()
    return options


def _require_readable(kind: Kind[Any], value: Any) -> None:
    """Refuse a value that nobody could have given."""
    if value is not None and kind is not kinds.VARIED:  # of these a search stores single values, too
        kind.read(kind.written(value))


def _stored_types() -> dict[str, Any]:
    types = get_type_hints(RunOptions, localns={"DataSource": Path})  # arrays in memory are not stored
    return {name: types[name] for name in RUN.options if name not in _NOT_STORED}


def _read(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"{value!r} is not a path")
