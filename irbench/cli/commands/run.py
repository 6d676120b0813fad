"""``irbench run``: measure models on backends and say which is fastest, by how much, and how sure that is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import FORMAT, OUTPUT, RESULTS
from irbench.cli.options.groups import OneOf, SectionedCommand
from irbench.cli.options.types import (
    BACKENDS,
    COUNTS,
    CPUS,
    DURATION,
    LEVELS,
    PERCENT,
    PRECISIONS,
    SETTING,
    SHAPE,
    THREADS,
    ToldInWords,
    as_settings,
    as_shapes,
)
from irbench.cli.output.stderr import plugin_warnings_told, say
from irbench.errors import IrbenchError

if TYPE_CHECKING:
    from irbench.api.options import RunOptions

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench run --backends ort,openvino --streams 4
  irbench run resnet50 --batch 1,8 --baseline ort
  irbench run model.onnx --shape tokens=1x128 --format json -o result.json
"""


_SECTIONS = {
    "all": "What is compared",
    "threads": "How each of them runs",
    "within": "How long, and how sure",
    "form": "What comes of it",
}
"""Headings in the help, each above the option that it begins with."""


@click.command(
    "run",
    cls=SectionedCommand,
    sections=_SECTIONS,
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@click.option("--all", is_flag=True, help="Every model that was exported.")
@click.option(
    "--backends",
    type=BACKENDS,
    cls=ToldInWords,
    show_default="every installed one",
    help="Backends, each with a device after a colon.",
)
@click.option(
    "--batch",
    type=COUNTS,
    cls=ToldInWords,
    show_default="1, or the model's own",
    help="Samples per inference: a table each.",
)
@click.option("--shape", type=SHAPE, multiple=True, help="The shape of an input; may be repeated.")
@click.option("--streams", type=COUNTS, default=(1,), show_default=True, help="Inferences in flight: a row each.")
@click.option(
    "--precision",
    type=PRECISIONS,
    cls=ToldInWords,
    show_default="fp32, or the graph's own",
    help="fp32, bf16, fp16, int8, or native, the vendor's default: a row each.",
)
@click.option(
    "--optimize",
    type=LEVELS,
    default=("none",),
    show_default=True,
    help="none, basic, extended, all, each also converted (basic-int8; int8 for short; int8-static): ONNX graphs before"
    " and after, side by side, and compared though precisions differ.",
)
@click.option(
    "--baseline",
    metavar="ROW",
    cls=ToldInWords,
    show_default="tf, or the first",
    help="What speedups are relative to, such as ort, or ort@streams=1.",
)
@click.option("--allow-mixed", is_flag=True, help="Compare rows of different effective precision, and mark them.")
@click.option(
    "--threads",
    type=THREADS,
    cls=ToldInWords,
    show_default="the physical cores we may use",
    help="Total for each process, or native.",
)
@click.option(
    "--cpus", type=CPUS, cls=ToldInWords, show_default="all that are allowed", help="Processors the backends may use."
)
@click.option("--set", type=SETTING, multiple=True, help="A property of a backend; may be repeated.")
@click.option(
    "--io",
    type=OneOf(["copy", "bound"]),
    default="copy",
    show_default=True,
    help="What is timed: host arrays in and out, or the inference alone.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    default=0,
    cls=ToldInWords,
    show_default="0",
    help="Of inputs and of the order of measurements.",
)
@click.option("--within", type=PERCENT, cls=ToldInWords, show_default="2%", help="Closer than this counts as the same.")
@click.option(
    "--budget", type=DURATION, cls=ToldInWords, show_default="90s for each table", help="Time for the whole run."
)
@click.option(
    "--deadline",
    type=DURATION,
    cls=ToldInWords,
    show_default="300s",
    help="When a backend that gives no answer is ended, for each step.",
)
@click.option("--quick", is_flag=True, help="3 launches: large differences at once, wide intervals.")
@click.option("--thorough", is_flag=True, help="10 to 20 launches, intervals down to 0.5%, 15 minutes for each table.")
@click.option("--tail", is_flag=True, help="Also p99 and p99.9, from at least 1,000 uninterrupted calls per launch.")
@click.option(
    "--sustain", type=DURATION, cls=ToldInWords, show_default="off", help="Also FPS alone for so long in each launch."
)
@click.option("--strict", is_flag=True, help="Exit with 4 where a verdict or the winner is undecided.")
@click.option("--no-lock", is_flag=True, help="Measure though another irbench does on this machine.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what would be measured, with which settings and how long it takes at least; models are exported and"
    " graphs optimised for that.",
)
@click.option("--name", default="", metavar="NAME", help="Call the run so: irbench show NAME.")
@click.option("--note", default="", metavar="TEXT", help="What is to be remembered of the run.")
@click.option("--yes", is_flag=True, help="Do not ask before a first run that names no model.")
@FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    dry_run: bool,
    yes: bool,
    shape: Sequence[tuple[str, tuple[int, ...]]],
    set: Sequence[tuple[str, str, str]],  # noqa: A002 - the option's name
    **options: Any,
) -> int:
    """Measure models on backends under one timing protocol.

    MODEL is a name from `irbench models`, an exported bundle, an ONNX file, or anything that `irbench export`
    takes. Without one, the model that was exported last is run; a model that was never exported is exported first.
    Outputs are verified before anything is timed, and every speedup comes with its interval.
    """
    from irbench.api.measurement import foresee
    from irbench.api.options import RunOptions
    from irbench.cli.output.console import command_line

    asked = RunOptions(command=command_line(), shape=as_shapes(shape), set=as_settings(set), **options)
    _refuse_wrong_output(asked, output, dry_run=dry_run)
    if not yes:
        _confirm_first_run(asked)
    if dry_run:
        click.echo(foresee(asked, say))
        return 0
    return _measured(asked, form, output, strict=strict)


def _measured(asked: RunOptions, form: str, output: Path | None, *, strict: bool) -> int:
    from irbench.api.measurement import measure
    from irbench.api.progress import displayed
    from irbench.cli.exits import exit_code
    from irbench.cli.output.document import write_document

    with plugin_warnings_told(), displayed() as reporter:
        stored = measure(asked, reporter)
    try:
        write_document(stored.document, form, output)
    finally:  # a file that cannot be written any more is no loss
        say(f"stored in {stored.folder}")
    return int(exit_code(stored.document, strict=strict))


def _refuse_wrong_output(asked: RunOptions, output: Path | None, *, dry_run: bool) -> None:
    """Refuse an output that has no content, or would overwrite a model.

    Raises:
        IrbenchError: It is such a one.
    """
    if output is None:
        return
    if dry_run:
        raise IrbenchError("--dry-run has no result that -o could write.", hint="Leave one of them out.")
    for model in map(Path, asked.models):
        files = (model, *(model.iterdir() if model.is_dir() else ()))
        if output.exists() and output.resolve() in {path.resolve() for path in files}:
            raise IrbenchError(f"-o {output} would overwrite the model.", hint="Give another path with -o.")


def _confirm_first_run(asked: RunOptions) -> None:
    """Say what a run without a model is going to do where nothing was exported yet; on a terminal, ask.

    Raises:
        IrbenchError: The answer is no.
    """
    from irbench.api.resolve import first_run

    outlook = first_run(asked.models, everything=asked.all)
    if outlook:
        say(outlook)
        asks = sys.stdin.isatty() and sys.stderr.isatty()
        if asks and not click.confirm("Go on?", default=True, err=True):
            raise IrbenchError(
                "Nothing was measured.", hint="Name a model (irbench models lists them) or an ONNX file."
            )
