"""The options of ``irbench optimize``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.input_request import DataSource
from irbench.options.option import CommandOptions, option
from irbench.options.run import like
from irbench.options.values import Constants, Shapes
from irbench.spec import DISTRIBUTIONS, Distribution
from irbench.spec.models import GraphPrecision, Layout, Quantize


@dataclass(frozen=True)
class OptimizeOptions:
    """How graphs are optimised."""

    level: str | None = option(
        kinds.LEVEL,
        "How much to optimise: basic and extended use standard ONNX operators, all adds Microsoft's.",
        metavar="none|basic|extended|all",
        default_text="basic",
    )
    passes: tuple[str, ...] | None = option(kinds.PASSES, "Run these passes, in this order, instead of a level.")
    precision: GraphPrecision = option(
        kinds.one_of(GraphPrecision), "Convert the result, and measure how its outputs change.", default="fp32"
    )
    calibrate: int | None = option(
        kinds.COUNT, "Number of inputs to calibrate static int8 with.", metavar="N", default_text="64"
    )
    quantize: Quantize | None = option(
        kinds.one_of(Quantize),
        "How to quantise to int8; auto is static for convolutional networks, otherwise dynamic.",
        default_text="auto",
    )
    layout: Layout = option(
        kinds.one_of(Layout),
        "nchw: change image inputs to NCHW where the graph transposes them itself.",
        default="keep",
    )
    imports: tuple[str, ...] = like("imports")
    batch: int | None = option(kinds.BATCH, "Fix the batch size first; dynamic by default.")
    shape: Shapes = like("shape", help="Fix the shape of an input, or a dynamic dimension (length=128), first")
    data: DataSource | None = like(
        "data", help="Samples to check and calibrate on, as irbench run takes them; generated inputs by default."
    )
    value: Constants = like("value")
    classes: tuple[str, ...] = like("classes")
    distribution: Distribution | None = option(
        kinds.one_of(DISTRIBUTIONS),
        "What generated floats are drawn from: uniform in [0, 1), symmetric in [-1, 1), normal with deviation 1, or"
        " bytes in [0, 255).",
        default_text="the range that the model declares",
    )
    output: Path | None = option(
        kinds.FILE, "Write the graph to FILE; the report goes to standard output.", short="-o", metavar="FILE"
    )


OPTIMIZE = CommandOptions("optimize", OptimizeOptions)
