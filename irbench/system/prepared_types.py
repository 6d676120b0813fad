"""Types that msgspec reads, made ready by one thread at a time."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_making = threading.RLock()


@overload
def prepared(kind: type[T]) -> type[T]: ...


@overload
def prepared(kind: Any) -> Any: ...


def prepared(kind: Any) -> Any:
    """Return a type after msgspec has learnt its fields: ``msgspec.json.decode(data, type=prepared(kind))``.

    msgspec 0.22 learns the fields of a class when it first reads one, and keeps in the class what it has learnt so far.
    A second thread that reads the class at that moment looks at fields that are missing still: a segmentation fault.
    """
    with _making:
        _learn(kind)
    return kind


@cache
def _learn(kind: Any) -> None:
    msgspec.msgpack.Decoder(kind)
