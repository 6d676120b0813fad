"""Levels of optimisation: which passes run in which order, and which conversion follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from irbench.core import registry
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec.models import ConvertedPrecision, Layout, Quantize

UNOPTIMIZED = "none"
"""The level at which nothing is done."""

_CLEANING = ("fold_shapes", "join_equal_sizes", "restore_select", "remove_full_slices", "remove_redundant")
_LAYOUT = ("einsum_to_matmul", "stack_to_transpose", "lift_reshapes", "remove_redundant")
_FUSING = ("loop_to_gru", "fuse_layer_normalization", "fuse_group_normalization", "fuse_gelu", "lift_transposes")
_BASIC = (*_CLEANING, *_LAYOUT, *_FUSING, *_CLEANING)
_ATTENTION = (
    *("split_for_attention", "fuse_attention", "fuse_grouped_queries", "fuse_key_value_cache"),
    "fuse_attention",
)
_EXTENDED = (
    *(*_BASIC, "fuse_rms_normalization", "fuse_rotary_embedding", "slices_to_gather"),
    *(*_ATTENTION, "remove_redundant", "settle_reshapes", "remove_redundant"),
)

LEVELS = {
    UNOPTIMIZED: (),
    "basic": _BASIC,
    "extended": _EXTENDED,
    "all": (*_EXTENDED, "pack_attention", "fuse_bias_gelu", "fuse_skip_layer_normalization", "remove_redundant"),
}
"""Passes of each level, in order: ``basic`` and ``extended`` write ONNX's own operators, ``all`` a vendor's as well."""


_LEVEL_OF_CONVERSIONS = "basic"
"""What is done before a conversion that is named without a level."""


@dataclass(frozen=True)
class Conversion:
    """What a graph is converted to after its passes.

    Attributes:
        method: How it is quantised; ``auto`` chooses by what holds its weights. Without meaning for floats.
        samples: Different inputs that a static quantisation is calibrated on. Without meaning for floats.
    """

    precision: ConvertedPrecision
    method: Quantize = "auto"
    samples: int = 64

    @property
    def name(self) -> str:
        """The precision, and the method where one was named: ``int8-static``."""
        return self.precision if self.method == "auto" else f"{self.precision}-{self.method}"


CONVERSIONS = (
    *(Conversion(argument) for argument in get_args(ConvertedPrecision)),
    Conversion("int8", "static"),
    Conversion("int8", "dynamic"),
)
"""Conversions that the name of a variant can end with."""


@dataclass(frozen=True)
class Recipe:
    """What is done to a graph.

    Attributes:
        name: What tables call the result: its level, or ``custom``; behind it layout, precision and the method where
            one was named, as in ``basic-nchw-int8-static``.
        passes: Names of the passes, in order.
        conversion: What follows them; ``None`` leaves the graph in fp32.
        layout: Of image inputs; ``nchw`` takes them so, before the first pass, where the graph turns them itself.
    """

    name: str
    passes: tuple[str, ...]
    conversion: Conversion | None = None
    layout: Layout = "keep"


def build_recipe(
    level: str, passes: Sequence[str] | None = None, conversion: Conversion | None = None, layout: Layout = "keep"
) -> Recipe:
    """Return the recipe of a level, or of passes that are named one by one."""
    if conversion is not None:
        _refuse_unknown("precision to convert to", conversion.precision, get_args(ConvertedPrecision))
        _refuse_unknown("method of quantizing", conversion.method, get_args(Quantize))
        if conversion.samples < 1:
            raise IrbenchError(f"Nothing is calibrated on {conversion.samples} inputs.", hint="Calibrate on 64.")
    _refuse_unknown("layout", layout, get_args(Layout))
    if passes is None and level not in LEVELS:
        raise IrbenchError(f"There is no level {level!r}.", hint=f"{_levels_text(level)}.")
    for graph_pass in passes or ():
        registry.graph_pass(graph_pass)
    chosen = LEVELS[level] if passes is None else tuple(passes)
    name = [level if passes is None else "custom", *([layout] if layout != "keep" else [])]
    name += [conversion.name] if conversion is not None else []
    return Recipe("-".join(name), chosen, conversion, layout)


def variant(name: str) -> Recipe:
    """Return the recipe of what tables call a result: ``basic``, ``basic-nchw-int8-static``.

    What stands without a level is short for that of ``basic``: ``int8`` for ``basic-int8``.
    """
    rest, conversion = _split_conversion(name)
    layout: Layout = "nchw" if rest.rpartition("-")[2] == "nchw" else "keep"
    if layout == "nchw":
        rest = rest.rpartition("-")[0]
    level = rest or _LEVEL_OF_CONVERSIONS
    if level not in LEVELS:
        raise IrbenchError(
            f"There is no level {level!r}.",
            hint=f"{_levels_text(level)}; each may be followed by a layout and a precision: "
            f"{_LEVEL_OF_CONVERSIONS}-int8, {_LEVEL_OF_CONVERSIONS}-int8-static, {_LEVEL_OF_CONVERSIONS}-nchw.",
        )
    return build_recipe(level, None, conversion, layout)


def _levels_text(mistyped: str) -> str:
    return f"{did_you_mean(mistyped, LEVELS)}Levels: {', '.join(LEVELS)}"


def command_options(name: str) -> str:
    """Return the options with which ``irbench optimize`` makes what tables call by a name."""
    recipe = variant(name)
    words = [f"--level {recipe.name.partition('-')[0]}"]
    words += ["--layout nchw"] if recipe.layout == "nchw" else []
    if recipe.conversion is not None:
        words += [f"--precision {recipe.conversion.precision}"]
        words += [f"--quantize {recipe.conversion.method}"] if recipe.conversion.method != "auto" else []
    return " ".join(words)


def _refuse_unknown(kind: str, name: str, known: Sequence[str]) -> None:
    """Refuse a name that no step knows: results are kept under it, and some step would take it for its default."""
    if name not in known:
        raise IrbenchError(f"There is no {kind} {name!r}.", hint=f"Known: {', '.join(known)}.")


def _split_conversion(name: str) -> tuple[str, Conversion | None]:
    for conversion in CONVERSIONS:
        before, ending, after = f"-{name}".rpartition(f"-{conversion.name}")
        if ending and not after:
            return before.removeprefix("-"), conversion
    return name, None
