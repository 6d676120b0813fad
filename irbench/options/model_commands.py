"""The options of the commands that look at models and at the machine, and of those that make graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.options import kinds, values
from irbench.options.input_request import DataSource
from irbench.options.option import CommandOptions, option
from irbench.options.run import RunOptions, like
from irbench.options.values import Constants, Feedback, Shapes
from irbench.spec import DISTRIBUTIONS, Distribution

Suite: TypeAlias = Literal["onnx"]
Layout: TypeAlias = Literal["keep", "nchw"]
GraphPrecision: TypeAlias = Literal["fp32", "fp16", "bf16", "int8"]
Quantize: TypeAlias = Literal["auto", "static", "dynamic"]

DEFAULT_OPSET = 18
_SIZE = "of an input, or size of a dynamic dimension"


@dataclass(frozen=True)
class VerifyOptions:
    """What is verified: a model, or cases of a suite.

    Attributes:
        model: As the user named it.
    """

    model: str | None = None
    data: DataSource | None = like(
        "data",
        help="Samples as irbench run takes them: a .npz, .npy or image file, or a folder of them; or a"
        " test_data_set_0, or a folder of those, whose output_*.pb are the expected outputs.",
    )
    value: Constants = like("value")
    feedback: Feedback = like("feedback")
    shape: Shapes = like("shape", help=f"Shape {_SIZE}: length=128")
    suite: Suite | None = option(kinds.one_of(Suite), "Run the test suite of the onnx package.", metavar="onnx")
    only: str | None = option(
        kinds.text('"test_add*"', "PATTERN"), "Run only the cases that match, for example test_add*."
    )
    between: tuple[str, str] | None = option(
        kinds.PAIR,
        "Compare two versions of a runtime, each a release (onnxruntime==1.22.0), a wheel, the Python of an"
        " environment, or installed.",
    )
    backends: tuple[str, ...] | None = like("backends", help="Backends to check, with an optional device: ort:cuda.")


VERIFY = CommandOptions("verify", VerifyOptions)


def _fixed_batch(text: str) -> int | None:
    if text == "dynamic":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is no number of samples")
    return int(text)


_FIXED_BATCH = kinds.Kind[int | None]("8", "int", values.count, "8|dynamic", text=_fixed_batch)
_WEIGHTS = kinds.Kind(
    '"random", or a path', "str | PathLike[str]", lambda value: str(Path(value)), "random|PATH", text=values.text
)


@dataclass(frozen=True)
class ExportOptions:
    """How a model is exported."""

    opset: int = option(kinds.OPSET, "ONNX operator set, 13 to 23.", metavar="N", default=DEFAULT_OPSET)
    batch: int | None = option(_FIXED_BATCH, "A fixed batch size, or a dynamic one.", default_text="dynamic")
    seed: int = like("seed", help="Seed for random weights and for generated inputs.")
    weights: str | None = option(
        _WEIGHTS, "Draw random weights, or load them from a file.", default_text="the model's own"
    )
    layout: Layout = option(
        kinds.one_of(Layout),
        "Layout of image inputs in ONNX; most runtimes are faster with nchw.",
        default="nchw",
    )
    signature: str | None = option(
        kinds.text('"serving_default"', "NAME"),
        "Which function of a SavedModel to export.",
        default_text="serving_default, or the only one",
    )
    force: bool = option(
        kinds.FLAG,
        "Export again even if no change is seen, for example of a file that tf.io.read_file reads.",
        default=False,
    )
    output: Path | None = option(kinds.PATH, "Write the bundle to DIR (one model only).", short="-o", metavar="DIR")
    name: str | None = option(
        kinds.text('"resnet50_flowers"', "NAME"),
        "Name the bundle (one model only).",
        default_text="the model's own",
    )
    imports: tuple[str, ...] = like(
        "imports", help="Import MODULE before the model is loaded: it registers custom layers."
    )
    shape: Shapes = like("shape", help=f"Run the model with this shape {_SIZE} (sequence=64), and make it the default")
    deadline: float | None = like(
        "deadline",
        help="Time limit for one step of an export, after which it counts as failed.",
        default_text="1h, and 15m for comparing outputs",
    )


EXPORT = CommandOptions(
    "export",
    ExportOptions,
    RunOptions,
    sections={
        "": (
            "opset", "batch", "seed", "weights", "layout", "imports", "name", "signature", "shape", "data", "value",
            "deadline", "force", "output",
        )
    },
    changes={
        "data": {
            "help": "Samples, as irbench run takes them, on which outputs are compared with the original's as well."
        },
        "value": {"help": "Constant for an input in that comparison"},
    },
)  # fmt: skip


@dataclass(frozen=True)
class OptimizeOptions:
    """How graphs are made better."""

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
    batch: int | None = option(kinds.COUNT, "Fix the batch size first; dynamic by default.", metavar="N")
    shape: Shapes = like("shape", help="Fix the shape of an input, or a dynamic dimension (length=128), first")
    data: DataSource | None = like(
        "data", help="Samples to check and calibrate on, as irbench run takes them; generated inputs by default."
    )
    value: Constants = like("value")
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


@dataclass(frozen=True)
class GraphSizes:
    """The sizes at which a graph is looked at."""

    batch: int | None = option(kinds.COUNT, "Show the graph at this batch size.", metavar="N")
    shape: Shapes = like("shape", help=f"Show the graph at this shape {_SIZE} (length=128)")


INSPECT = CommandOptions("inspect", GraphSizes)
COST = CommandOptions(
    "cost",
    GraphSizes,
    changes={
        "batch": {"help": "Count for this batch size."},
        "shape": {
            "help": f"Count for this shape {_SIZE} (length=128). A batch and dimensions that are not given have their"
            " default sizes"
        },
    },
)


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """What is measured of a machine, and how."""

    peak: bool = option(
        kinds.FLAG,
        "Also measure the peak performance of this machine: matrix products per precision, and bandwidth of caches"
        " and memory. This takes five to fifteen minutes, longest on a busy machine; the result is kept.",
        default=False,
    )
    backend: str | None = option(
        kinds.BACKEND,
        "Backend for --aa and --peak.",
        metavar="NAME",
        default_text="a reference backend, such as ort; for --peak, each that reads ONNX",
    )
    threads: int | Literal["native"] | None = option(
        kinds.THREADS,
        "For --aa: threads per process in total, or native.",
        default_text="the available physical cores",
    )
    cpus: tuple[int, ...] | None = like("cpus", help="For --aa and --peak: processors to use.")
    budget: float | None = option(kinds.DURATION, "For --aa: time limit.", default_text="90s")
    no_lock: bool = like(
        "no_lock", help="For --aa and --peak: measure even if another irbench is measuring on this machine."
    )
    results: Path | None = like("results")

    @property
    def is_restricted(self) -> bool:
        """Whether peaks are those of a part of the machine or of its software."""
        return self.backend is not None or self.cpus is not None


DOCTOR = CommandOptions("doctor", DoctorOptions)
