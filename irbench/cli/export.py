"""``irbench export``: TensorFlow and Keras models to bundles that every backend can run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench.cli.completing import MODEL
from irbench.cli.groups import OneOf
from irbench.cli.options import Parsed, ToldInWords
from irbench.errors import IrbenchError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["command"]


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
"""


@click.command(name="export", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL...")
@click.option("--opset", type=int, metavar="N", default=18, show_default=True, help="ONNX operator set, 13 to 23.")
@click.option(
    "--batch",
    type=Parsed("8|dynamic", _batch),
    default="dynamic",
    show_default=True,
    help="A fixed batch, or a free one.",
)
@click.option(
    "--seed", type=int, metavar="N", default=0, show_default=True, help="Of random weights and of generated inputs."
)
@click.option(
    "--weights",
    cls=ToldInWords,
    metavar="random|PATH",
    show_default="the model's own",
    help="Random weights, or a file of them.",
)
@click.option(
    "--layout",
    type=OneOf(["keep", "nchw"]),
    default="nchw",
    show_default=True,
    help="Of image inputs in ONNX; nchw is the faster one.",
)
@click.option("--force", is_flag=True, help="Build even if a bundle made from the same things exists.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Put the one bundle into DIR.")
def command(
    models: tuple[str, ...],
    opset: int,
    batch: int | None,
    seed: int,
    weights: str | None,
    layout: Literal["keep", "nchw"],
    force: bool,
    output: Path | None,
) -> None:
    """Export models to bundles: ONNX, a TensorFlow graph and the outputs that both must give.

    MODEL is a name from `irbench models`, a .keras file, a SavedModel folder, package.module:function
    or path/to/file.py:function; the function takes nothing and returns a Keras model.
    """
    from irbench.exporter import ExportOptions, validate

    asked = ExportOptions(opset, batch, seed, weights, layout, force, output)
    if output is not None and len(models) > 1:
        raise IrbenchError("-o names the folder of one bundle.", hint="Export one model at a time, or leave -o out.")
    for model in models:  # every wrong name is found before the first minute of work
        validate(model, asked)
    for model in dict.fromkeys(models):
        _export_one(model, asked)


def _export_one(model: str, asked: Any) -> None:
    from irbench.bundles import load_card
    from irbench.cli.console import err_console, print_data, to_text
    from irbench.exporter import export, matching
    from irbench.measure.clock import Stopwatch

    progress, watch = err_console(), Stopwatch()
    known = None if asked.force else matching(model, asked)
    with progress.status(f"{model}: starting", spinner="dots") as status:
        folder = export(model, asked, lambda text: _report(progress, status, model, text))
    card = load_card(folder)
    duration = "already there" if folder == known else f"{watch.elapsed_s:.0f} s"
    print_data(to_text(_summary(card, duration)), None)
    print_data(f"  {folder}", None)  # never wrapped: it is there to be copied


def _report(progress: Console, status: Any, model: str, text: str) -> None:
    from rich.markup import escape

    if text.startswith("warning: "):
        progress.print(f"[yellow]warning[/yellow] {escape(model)}: {escape(text.removeprefix('warning: '))}")
    else:
        status.update(f"{escape(model)}: {escape(text)}")


def _summary(card: Any, duration: str) -> Text:
    from rich.text import Text

    bundle, facts = card.bundle, card.bundle.details
    onnx = bundle.artifact(("onnx",))
    inputs = ", ".join(f"{spec.name} {'x'.join(map(str, spec.shape))}" for spec in onnx.inputs)
    parts = (
        f"opset {onnx.opset}",
        inputs,
        f"{facts['nodes']} nodes",
        f"{facts['bytes'] / 1e6:.1f} MB",
        f"agrees with the original to {facts['max_rel_error']:.0e}",
        duration,
    )
    return Text.assemble((bundle.name, "bold"), "  ", " · ".join(parts))
