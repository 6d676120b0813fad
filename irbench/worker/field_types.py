"""Whether values have the types that annotations say, as far as plain values go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

Check: TypeAlias = Callable[[Any], bool]
"""Whether a plain value has a type."""

_WIDER: Mapping[Any, tuple[type, ...]] = {int: (int, np.integer), float: (float, int, np.floating, np.integer)}
"""What else does for a number."""


@cache
def field_checks(kind: type) -> Mapping[str, Check]:
    """Return what each field of a dataclass must be, in their order; anything where only checkers know a name."""
    names = vars(sys.modules[kind.__module__])
    return {field.name: check_of(_evaluated(field.type, names)) for field in fields(kind)}


def check_of(hint: Any) -> Check:
    """Return whether a value has a type; what is made of dataclasses was looked at when they were made.

    Args:
        hint: A class, a union, literals, or containers of those; anything else fits every value.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        checks = tuple(map(check_of, arguments))
        return lambda value: any(check(value) for check in checks)
    if origin is Literal:
        return lambda value: any(type(value) is type(argument) and value == argument for argument in arguments)
    kind = NoneType if hint is None else origin or hint
    if kind in (Any, object) or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return lambda _: True
    kinds, inner_fit = _WIDER.get(kind, kind), _inner_check(kind, arguments)
    if inner_fit is None:
        return lambda value: isinstance(value, kinds)
    return lambda value: isinstance(value, kinds) and inner_fit(value)


def _inner_check(kind: type, arguments: tuple[Any, ...]) -> Check | None:
    """Return what must hold for what a container of this kind holds; ``None`` where anything may be in it."""
    if not arguments or issubclass(kind, np.ndarray):
        return None
    checks = [check_of(argument) for argument in arguments]
    first = checks[0]
    if issubclass(kind, tuple) and arguments[-1] is not Ellipsis:
        return lambda value: (
            len(value) == len(checks) and all(check(inner) for check, inner in zip(checks, value, strict=True))
        )
    if issubclass(kind, Mapping) and len(checks) == 2:
        return lambda value: all(map(first, value)) and all(map(checks[1], value.values()))
    if issubclass(kind, Collection):
        return lambda value: isinstance(value, str | bytes | np.ndarray) or all(map(first, value))
    return None


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"field": hint}), names)["field"]
    except NameError:
        return Any
