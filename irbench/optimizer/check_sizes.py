"""Other sizes of dynamic dimensions, at which a graph is compared with the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from irbench.spec import BATCH, TensorSpec
from irbench.spec.dimensions import names_in

Sizes = Mapping[str, int]

_COMMON = (128, 16, 1024, 16384)
"""Sizes of sequences, short tables of positions, and sounds, in the order in which they are tried."""
_MOST_ELEMENTS = 1 << 24
"""Of an input whose sizes nobody gave."""


def base_sizes(inputs: Sequence[TensorSpec], known: Sizes) -> Iterator[Sizes]:
    """Yield a size for every dimension, at least once: common ones for those whose size is not known.

    A caller takes the first that the graph can run. Where a dimension is computed from others that are not known, or
    an input would be large, nothing is added.
    """
    names = {name for spec in inputs for name in spec.dynamic_dimensions} - known.keys()
    if not names or any(set(names_in(name)) != {name} for name in names):
        yield known
        return
    candidates: Iterator[Sizes] = ({**known, **dict.fromkeys(names, size)} for size in _COMMON)
    usable = [sizes for sizes in candidates if all(_elements(spec, sizes) <= _MOST_ELEMENTS for spec in inputs)]
    yield from usable or [known]


def _elements(spec: TensorSpec, sizes: Sizes) -> int:
    return prod(size for size in spec.bind(sizes).shape if isinstance(size, int))


def other_sizes(base: Sizes, dynamic: Sequence[str]) -> Iterator[Sizes]:
    """Yield sizes that differ from ``base`` in as many dimensions as can be, the most first.

    A model may need some sizes to be equal, or to be what they are, so a caller takes the first that it can run: all
    dimensions different from each other as well, then all changed alike, then one changed alone. Sizes other than the
    batch shrink, because models with a greatest length are common.
    """
    if not dynamic:
        return
    yield {**base, **{name: _other(name, base[name], place) for place, name in enumerate(dynamic)}}
    if len(dynamic) > 1:
        yield {**base, **{name: _other(name, base[name], 0) for name in dynamic}}
        yield from ({**base, name: _other(name, base[name], 0)} for name in dynamic)


def one_sample(base: Sizes, dynamic: Sequence[str]) -> Sizes:
    """Return ``base`` with a batch of 1 if the batch may change."""
    return {**base, BATCH: 1} if BATCH in dynamic else base


def all_ones(base: Sizes, dynamic: Sequence[str]) -> Sizes:
    """Return ``base`` with every dimension that may change at 1."""
    return {**base, **dict.fromkeys(dynamic, 1)}


def _other(name: str, size: int, place: int) -> int:
    if name == BATCH:
        return size + 1
    return size + 1 + place if size <= 2 else max(2, size // 2 + 1 - place)
