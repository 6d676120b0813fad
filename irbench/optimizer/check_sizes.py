"""The sizes at which a graph is checked: of dimensions whose size nobody gave, and others that differ from these.

The total length of a decoder that keeps a cache is that of the cache and of the new tokens together. Files give it a
name of its own, so it is recognised where only masks have it, or where its name says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from irbench.spec import BATCH, TensorSpec, is_named_as_mask, names_in, renamed, size_of

Sizes = Mapping[str, int]

_COMMON = (128, 16, 4, 1024)
"""Sizes of sequences and of short tables of positions, in the order in which they are tried."""
_SOUND = 16384
"""Of the only dimension whose size is not known, at last: a model that needs so many has one."""
_MOST_ELEMENTS = 1 << 24
"""Of an input whose sizes nobody gave."""
_TOTAL = re.compile(r"(.*_)?total(_.*)?", re.IGNORECASE)


@dataclass(frozen=True)
class CheckSizes:
    """Sizes at which a graph may run.

    Attributes:
        sizes: A size for each dynamic dimension but the computed ones.
        computed: Dimensions that are taken for arithmetic of others: ``{"total": "past + tokens"}``.
    """

    sizes: Sizes
    computed: Mapping[str, str] = field(default_factory=dict[str, str])

    def apply(self, inputs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
        """Return inputs with the arithmetic in place of the names."""
        return tuple(
            TensorSpec(
                spec.name, spec.dtype, tuple(renamed(size, self.computed) for size in spec.shape), spec.permutation
            )
            for spec in inputs
        )


def with_computed(sizes: Sizes, computed: Mapping[str, str]) -> Sizes:
    """Return sizes with those that are computed from them."""
    found = {name: size_of(text, sizes) for name, text in computed.items()}
    return {**sizes, **{name: size for name, size in found.items() if size is not None}}


def base_sizes(inputs: Sequence[TensorSpec], known: Sizes) -> Iterator[CheckSizes]:
    """Yield a size for every dimension, at least once: common ones for those whose size is not known.

    A caller takes the first that the graph can run. Sizes at which an input would be large are left out.
    """
    free = free_names(inputs, known)
    if not free:
        yield CheckSizes(known)
        return
    sizes = (*_COMMON, _SOUND) if len(free) == 1 else _COMMON
    candidates = [
        CheckSizes({**known, **{name: size for name in free if name not in computed}}, computed)
        for computed in (*_totals(inputs, free), {})
        for size in sizes
    ]
    usable = [candidate for candidate in candidates if _is_small(candidate, inputs)]
    yield from usable or [CheckSizes(known)]


def free_names(inputs: Sequence[TensorSpec], known: Sizes) -> tuple[str, ...]:
    """Return the names whose size is not known."""
    unknown = (dimension for spec in inputs for dimension in spec.dynamic_dimensions if dimension not in known)
    names = (name for dimension in unknown for name in names_in(dimension) if name not in known)
    return tuple(dict.fromkeys(names))


def _is_small(candidate: CheckSizes, inputs: Sequence[TensorSpec]) -> bool:
    bound = (spec.bind(candidate.sizes) for spec in candidate.apply(inputs))
    return all(prod(size for size in spec.shape if isinstance(size, int)) <= _MOST_ELEMENTS for spec in bound)


def _totals(inputs: Sequence[TensorSpec], free: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield the total length and what it is the sum of, where other inputs have one or two lengths besides.

    A decoder that takes one token a call has no name for their number.
    """
    elsewhere = {name for spec in inputs if not _is_mask(spec) for name in spec.dynamic_dimensions}
    named = [name for name in free if _TOTAL.fullmatch(name)]
    totals = named or [name for name in free if name not in elsewhere]
    parts = [name for name in free if name not in totals]
    if len(totals) != 1 or not 1 <= len(parts) <= 2 or not all(part.isidentifier() for part in parts):
        return
    yield {totals[0]: " + ".join(parts) if len(parts) == 2 else f"{parts[0]} + 1"}


def _is_mask(spec: TensorSpec) -> bool:
    return spec.dtype == "bool" or is_named_as_mask(spec.name)


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


def varied(inputs: Sequence[TensorSpec], sizes: Sizes) -> tuple[str, ...]:
    """Return the dimensions that may be given other sizes: those of which others are computed in place of these."""
    dimensions = dict.fromkeys(dimension for spec in inputs for dimension in spec.dynamic_dimensions)
    names = (name for dimension in dimensions for name in ((dimension,) if dimension in sizes else names_in(dimension)))
    return tuple(dict.fromkeys(name for name in names if name in sizes))


def _other(name: str, size: int, place: int) -> int:
    if name == BATCH:
        return size + 1
    return size + 1 + place if size <= 2 else max(2, size // 2 + 1 - place)
