"""The fields of a row's class, down to its scalars, each with the type of a column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

ColumnType: TypeAlias = Literal["string", "int64", "double", "bool", "json"]
"""``json`` is open-ended: text with JSON in it where a format has columns of scalars only."""

_SCALARS: dict[Any, ColumnType] = {str: "string", int: "int64", float: "double", bool: "bool"}


@dataclass(frozen=True)
class RowField:
    """One scalar or open-ended field of a row.

    Attributes:
        path: The names of the attributes that lead to it, separated by dots.
        type: Of its values.
        is_nullable: Whether it, or something on its path, may be null.
    """

    path: str
    type: ColumnType
    is_nullable: bool


def fields_of(row_type: type[Any]) -> Iterator[RowField]:
    """Yield the fields of a dataclass or struct in their order, those of a compound field in its place."""
    yield from _fields(row_type, "", is_nullable=False)


def value_at(row: object, path: str) -> Any:
    """Return the value of a field; ``None`` where something on its path is ``None``."""
    found: Any = row
    for name in path.split("."):
        if found is None:
            return None
        found = getattr(found, name)
    return found


def _fields(row_type: type[Any], before: str, *, is_nullable: bool) -> Iterator[RowField]:
    for name, hint in _hints(row_type):
        inner, is_optional = _without_null(hint)
        may_be_null = is_nullable or is_optional
        if _is_compound(inner) and not _is_code_with_facts(inner):
            yield from _fields(inner, f"{before}{name}.", is_nullable=may_be_null)
        else:
            yield RowField(f"{before}{name}", _column_type(inner), may_be_null)


def _hints(row_type: type[Any]) -> Iterator[tuple[str, Any]]:
    found = get_type_hints(row_type)
    names = row_type.__struct_fields__ if _is_struct(row_type) else tuple(field.name for field in fields(row_type))
    yield from ((name, found[name]) for name in sorted(names, key=_is_of_range))


def _is_of_range(name: str) -> bool:
    """Whether it is an end of a range, which stands in place of an interval and behind all else of its figure."""
    return name.startswith("range_")


def _without_null(hint: Any) -> tuple[Any, bool]:
    """Return a type without ``None`` in it, and whether that was there."""
    if get_origin(hint) not in (UnionType, Union):
        return hint, False
    others = [alternative for alternative in get_args(hint) if alternative is not NoneType]
    return (others[0] if len(others) == 1 else hint), len(others) < len(get_args(hint))


def _column_type(hint: Any) -> ColumnType:
    if get_origin(hint) is Literal:
        (kind,) = {type(value) for value in get_args(hint)}
        return _SCALARS[kind]
    return _SCALARS.get(hint, "json")


def _is_compound(hint: Any) -> bool:
    return is_dataclass(hint) or _is_struct(hint)


def _is_code_with_facts(hint: Any) -> bool:
    """Whether it holds open-ended facts, which have no columns of their own."""
    return "facts" in getattr(hint, "__annotations__", {})


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)
