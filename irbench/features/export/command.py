"""``irbench export``: TensorFlow and Keras models to bundles that every backend can run."""

from __future__ import annotations

from typing import Any

import click

from irbench.features.export.options import EXPORT
from irbench.options.export import ExportOptions
from irbench.options.input_request import InputRequest
from irbench.options.run import RunOptions
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.groups import SectionedCommand

_EXAMPLES = """\b
Examples:
  irbench export resnet50
  irbench export vgg16 --batch 8 --opset 17
  irbench export my_model.keras my_package:my_function
  irbench export my_package:encoder --shape tokens=64
"""


@click.command("export", cls=SectionedCommand, sections=headings(EXPORT, {}), epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL...")
@declared(EXPORT, but="")
def command(models: tuple[str, ...], **options: Any) -> None:
    """Export PyTorch, TensorFlow and JAX models to ONNX.

    MODEL is a name from `irbench models`, a .keras or .pt2 file, a SavedModel or Hugging Face folder,
    package.module:function or path/to/file.py:function. The function takes nothing and returns a Keras model, or
    a PyTorch module or function of JAX with its inputs: (module, example_inputs).

    Each export is run once, and its outputs are compared with the original's on generated inputs and on the samples in
    --data. An export whose outputs differ is not kept.

    For this comparison, dynamic dimensions have the size given with --shape, or else 128 (sequences), 224 (images) or
    16. They stay dynamic in the export.
    """
    from irbench.features.export.run import require_exportable

    own, shared = EXPORT.split(options)
    settings, inputs = ExportOptions(**own), RunOptions(**shared).inputs
    require_exportable(models, settings)
    for model in dict.fromkeys(models):
        export_model(model, settings, inputs)


def export_model(model: str, settings: ExportOptions, inputs: InputRequest) -> None:
    """Export a model, show what it does, and print where the bundle lies."""
    from rich.text import Text

    from irbench.core.plain_text import plain, plain_lines
    from irbench.features.export.run import ExportListener, export_with
    from irbench.terminal.console import err_console, print_data, print_lines, to_text

    progress = err_console()
    with progress.status(Text(plain(f"{model}: starting")), spinner="dots") as status:
        listener = ExportListener(
            say=lambda text: status.update(Text(plain(f"{model}: {text}"))),
            announce=lambda text: progress.print(Text(plain_lines(text)), soft_wrap=True),
        )
        exported = export_with(model, settings, listener, inputs)
    for problem in exported.problems:
        progress.print(Text.assemble(("warning", "yellow"), plain(f" {model}: {problem}")))
    print_data(to_text(Text.assemble((exported.name, "bold"), f"  {exported.summary}")), None)
    print_lines(f"  {exported.folder}")  # never wrapped: it is there to be copied
