"""``irbench export``: TensorFlow and Keras models to bundles that every backend can run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from irbench.cli.options.completion import MODEL
from irbench.cli.options.declared import shared
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import Parsed, PlainDefault
from irbench.spec import Number

if TYPE_CHECKING:
    from irbench.exporter import ExportOptions
    from irbench.options.asked_inputs import AskedInputs


def _batch(text: str) -> int | None:
    if text == "dynamic":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is no number of samples")
    return int(text)


_EXAMPLES = """\b
Examples:
  irbench export resnet50
  irbench export vgg16 --batch 8 --opset 17
  irbench export my_model.keras my_package:my_function
  irbench export my_package:encoder --shape tokens=64
"""


@click.command(name="export", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL...")
@click.option("--opset", type=int, metavar="N", default=18, show_default=True, help="ONNX operator set, 13 to 23.")
@click.option(
    "--batch",
    type=Parsed("8|dynamic", _batch),
    default="dynamic",
    show_default=True,
    help="A fixed batch size, or a dynamic one.",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    default=0,
    show_default=True,
    help="Seed for random weights and for generated inputs.",
)
@click.option(
    "--weights",
    cls=PlainDefault,
    metavar="random|PATH",
    show_default="the model's own",
    help="Draw random weights, or load them from a file.",
)
@click.option(
    "--layout",
    type=OneOf(["keep", "nchw"]),
    default="nchw",
    show_default=True,
    help="Layout of image inputs in ONNX; most runtimes are faster with nchw.",
)
@click.option(
    "--import",
    "imports",
    metavar="MODULE",
    multiple=True,
    help="Import MODULE before the model is loaded: it registers custom layers. May be repeated.",
)
@click.option(
    "--name", cls=PlainDefault, metavar="NAME", show_default="the model's own", help="Name the bundle (one model only)."
)
@click.option(
    "--signature",
    cls=PlainDefault,
    metavar="NAME",
    show_default="serving_default, or the only one",
    help="Which function of a SavedModel to export.",
)
@shared(
    "shape",
    help="Run the model with this shape of an input, or size of a dynamic dimension (sequence=64), and make it the"
    " default.",
)
@shared("data", help="Samples, as irbench run takes them, on which outputs are compared with the original's as well.")
@shared("value", help="Constant for an input in that comparison.")
@shared(
    "deadline",
    help="Time limit for one step of an export, after which it counts as failed.",
    default_text="1h, and 15m for comparing outputs",
)
@click.option(
    "--force",
    is_flag=True,
    help="Export again even if no change is seen, for example of a file that tf.io.read_file reads.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write the bundle to DIR (one model only)."
)
def command(
    models: tuple[str, ...],
    opset: int,
    batch: int | None,
    seed: int,
    weights: str | None,
    layout: Literal["keep", "nchw"],
    imports: tuple[str, ...],
    name: str | None,
    signature: str | None,
    force: bool,
    output: Path | None,
    shape: Mapping[str, tuple[int, ...]],
    deadline: float | None,
    data: Path | None,
    value: Mapping[str, tuple[Number, ...]],
) -> None:
    """Export models to bundles: an ONNX file, a TensorFlow graph, and the expected outputs.

    MODEL is a name from `irbench models`, a .keras file, a SavedModel folder, package.module:function
    or path/to/file.py:function; the function takes nothing and returns a Keras model.

    Each export is run once, and its outputs are compared with the original's on generated inputs and on the samples in
    --data. An export whose outputs differ is not kept.

    For this comparison, dynamic dimensions have the size given with --shape, or else 128 (sequences), 224 (images) or
    16. They stay dynamic in the export.
    """
    from irbench.api.export import require_exportable
    from irbench.exporter import ExportOptions
    from irbench.options.asked_inputs import AskedInputs

    asked = ExportOptions(opset, batch, seed, weights, layout, signature, force, output, name, imports, shape, deadline)
    inputs = AskedInputs(data, value)
    inputs.require_data()
    require_exportable(models, asked)
    for model in dict.fromkeys(models):
        _export(model, asked, inputs)


def _export(model: str, asked: ExportOptions, inputs: AskedInputs) -> None:
    from rich.text import Text

    from irbench.api.export import ExportListener, export_with
    from irbench.cli.output.console import err_console, print_data, print_lines, to_text
    from irbench.plain_text import plain, plain_lines

    progress = err_console()
    with progress.status(Text(plain(f"{model}: starting")), spinner="dots") as status:
        listener = ExportListener(
            say=lambda text: status.update(Text(plain(f"{model}: {text}"))),
            announce=lambda text: progress.print(Text(plain_lines(text)), soft_wrap=True),
        )
        made = export_with(model, asked, listener, inputs)
    for problem in made.problems:
        progress.print(Text.assemble(("warning", "yellow"), plain(f" {model}: {problem}")))
    print_data(to_text(Text.assemble((made.name, "bold"), f"  {made.summary}")), None)
    print_lines(f"  {made.folder}")  # never wrapped: it is there to be copied
