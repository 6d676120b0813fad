"""What may be asked of an export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds, values
from irbench.options.option import flag, option
from irbench.options.run import SIZE_HELP, like
from irbench.options.values import Shapes
from irbench.spec.models import Layout

DEFAULT_OPSET = 18


def _fixed_batch(text: str) -> int | None:
    if text == "dynamic":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a valid number of samples")
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
        kinds.one_of(Layout), "Layout of image inputs in ONNX; most runtimes are faster with nchw.", default="nchw"
    )
    signature: str | None = option(
        kinds.text('"serving_default"', "NAME"),
        "Which function of a SavedModel to export.",
        default_text="serving_default, or the only one",
    )
    force: bool = flag("Export again even if no change is seen, for example of a file that tf.io.read_file reads.")
    output: Path | None = option(kinds.PATH, "Write the bundle to DIR (one model only).", short="-o", metavar="DIR")
    name: str | None = option(
        kinds.text('"resnet50_flowers"', "NAME"), "Name the bundle (one model only).", default_text="the model's own"
    )
    imports: tuple[str, ...] = like(
        "imports", help="Import MODULE before the model is loaded: it registers custom layers."
    )
    shape: Shapes = like(
        "shape", help=f"Run the model with this shape {SIZE_HELP} (sequence=64), and make it the default"
    )
    deadline: float | None = like(
        "deadline",
        help="Time limit for one step of an export, after which it counts as failed.",
        default_text="1h, and 15m for comparing outputs",
    )
