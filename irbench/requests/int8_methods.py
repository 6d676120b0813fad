"""The method of quantisation that suits every backend of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.notices import Note
from irbench.notices.notes import Int8StaticChosen
from irbench.optimizer import UNOPTIMIZED, variant

_STATIC = "static"


def with_suitable_int8(
    variants: Sequence[str], backends: Iterable[BackendAddress]
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the levels of optimisation with static int8 where a backend computes no other, and a note that says so.

    A method that was named stays. Rows can be compared only if all backends run the same graph.

    Args:
        variants: Levels with their conversions, as tables call them.
        backends: Those that take part.
    """
    limited = [name for name in dict.fromkeys(name for name, _ in backends) if not _takes_any(name)]
    chosen = {name: f"{name}-{_STATIC}" for name in variants if limited and _leaves_the_method_open(name)}
    notes = (Int8StaticChosen(backend=limited[0], asked=asked, chosen=static) for asked, static in chosen.items())
    return tuple(dict.fromkeys(chosen.get(name, name) for name in variants)), tuple(notes)


def _takes_any(backend: str) -> bool:
    """Whether a backend computes a graph in integers however it was quantised; one that reads no ONNX has no say."""
    if "onnx" not in registry.backend(backend).consumes:
        return True
    return "dynamic" in registry.describe(registry.BACKENDS, backend).int8_methods


def _leaves_the_method_open(name: str) -> bool:
    conversion = None if name == UNOPTIMIZED else variant(name).conversion
    return conversion is not None and conversion.precision == "int8" and conversion.method == "auto"
