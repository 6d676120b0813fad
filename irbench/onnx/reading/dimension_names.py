"""Names of dynamic dimensions: one for each that the file leaves without, and ``batch`` for the batch."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from irbench.spec import BATCH, TensorSpec, names_in, renamed

_NO_NAME = re.compile(r"\W*|[+-]?\d+|None|none|null|nan")
"""What exporters write where they know neither size nor name; it may occur twice and mean two sizes."""
_TF2ONNX = "unk__"
"""How the names begin that tf2onnx numbers, a new one for each tensor."""
_BATCH_LIKE = re.compile(r"\w*batch\w*", re.IGNORECASE)
_LEADING_BATCH_LIKE = re.compile(r"\w*batch\w*|n|b|bs", re.IGNORECASE)


def is_chosen(name: str) -> bool:
    """Whether somebody called a dimension so: ``?``, ``-1`` and an empty text say that the size is unknown."""
    return _NO_NAME.fullmatch(name) is None


class DimensionNames:
    """Names for dimensions that have none: those of one file.

    Args:
        chosen: The names that the file gives, which are not given again.
    """

    def __init__(self, chosen: Iterable[str]) -> None:
        self._taken = set(chosen)
        self._generated: dict[tuple[str, int], str] = {}

    def name(self, tensor: str, axis: int) -> str:
        """Return a name that no other axis has: ``<tensor>_<axis>``, with what is no letter or digit as ``_``."""
        if (tensor, axis) not in self._generated:
            name = re.sub(r"\W", "_", tensor) + f"_{axis}"
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._generated[tensor, axis] = name
        return self._generated[tensor, axis]

    def batch_names(self, inputs: Sequence[TensorSpec]) -> frozenset[str]:
        """Return what the file calls the batch; several names where it gives each tensor one of its own."""
        leading = {spec.shape[0] for spec in inputs if spec.shape}
        names = {size for size in leading if _is_name(size)}
        chosen = {name for name in names if not self._is_generated(name)}
        others = {size for spec in inputs for size in spec.shape} - names
        if names == leading and BATCH not in others and (not chosen or _are_one_batch(chosen, names)):
            return frozenset(map(str, names))
        alike = {name for name in names if _LEADING_BATCH_LIKE.fullmatch(str(name))}
        alike |= {size for size in others if _is_name(size) and _BATCH_LIKE.fullmatch(str(size))}
        return frozenset(map(str, alike)) if len(alike) == 1 else frozenset()

    def _is_generated(self, name: int | str) -> bool:
        """Whether nobody chose the name: the file gave none, or tf2onnx numbered it."""
        return name in self._generated.values() or str(name).startswith(_TF2ONNX)


def with_batch(tensors: Iterable[TensorSpec], names: Collection[str]) -> tuple[TensorSpec, ...]:
    """Return the tensors with ``batch`` in place of each of the names, also where it stands in arithmetic."""
    new: Mapping[str, str] = dict.fromkeys(names, BATCH)
    return tuple(
        TensorSpec(spec.name, spec.dtype, tuple(renamed(size, new) for size in spec.shape)) for spec in tensors
    )


def _are_one_batch(chosen: Collection[int | str], names: Collection[int | str]) -> bool:
    """Whether names of first dimensions mean the same one; where some have none, the chosen name must say so."""
    return len(chosen) == 1 and (len(names) == 1 or all(_LEADING_BATCH_LIKE.fullmatch(str(name)) for name in chosen))


def _is_name(size: int | str) -> bool:
    return isinstance(size, str) and names_in(size) == (size,)
