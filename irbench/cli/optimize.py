"""``irbench optimize``: better graphs, each step checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench.cli.completing import LEVEL, MODEL
from irbench.cli.options import COUNT, PASSES, SHAPE, ToldInWords
from irbench.errors import IrbenchError
from irbench.spec import BATCH

if TYPE_CHECKING:
    from irbench.optimizer import Conversion, Optimized, Recipe
    from irbench.spec import Bundle

__all__ = ["command"]

_LEVEL = "basic"

_EXAMPLES = """\b
Examples:
  irbench optimize transformer_base --level extended
  irbench optimize model.onnx --batch 1 -o better.onnx
  irbench optimize resnet50 --passes fold_shapes,remove_redundant
  irbench optimize lstm_ptb_1 --precision int8
  irbench run transformer_base --optimize none,basic,basic-int8
"""


@click.command("optimize", short_help="Fuse and simplify graphs, each step checked.", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL|FILE.onnx...")
@click.option(
    "--level",
    type=LEVEL,
    cls=ToldInWords,
    show_default=_LEVEL,
    metavar="none|basic|extended|all",
    help="basic and extended write ONNX's own operators; all writes Microsoft's as well.",
)
@click.option("--passes", type=PASSES, help="These passes in this order instead of a level's.")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "fp16", "bf16", "int8"]),
    default="fp32",
    show_default=True,
    help="Convert the result; what that costs in accuracy is measured.",
)
@click.option(
    "--calibrate",
    type=COUNT,
    cls=ToldInWords,
    metavar="N",
    show_default="64",
    help="Inputs to calibrate static int8 on.",
)
@click.option(
    "--quantize",
    type=click.Choice(["auto", "static", "dynamic"]),
    cls=ToldInWords,
    show_default="auto",
    help="How int8 is made: auto is static for convolutions, else dynamic.",
)
@click.option(
    "--layout",
    type=click.Choice(["keep", "nchw"]),
    default="keep",
    show_default=True,
    help="nchw: take images as NCHW where the graph transposes them itself.",
)
@click.option("--batch", type=COUNT, metavar="N", help="Bind the batch first; dynamic by default.")
@click.option("--shape", "shapes", type=SHAPE, multiple=True, help="Bind the shape of an input; may be repeated.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Copy the graph there; the report goes to standard output.",
)
def command(**arguments: Any) -> None:
    """Fuse and simplify graphs: passes from ONNX to ONNX, each checked before the next begins.

    MODEL is an exported bundle, an ONNX file, or anything that `irbench export` takes. After each pass that changes
    something the graph is checked, loaded and its outputs compared with the original's. What comes out is kept with
    the bundle; `irbench run --optimize` takes what it names, such as basic or basic-int8-static. What other settings
    make (--passes, --calibrate, --shape) is measured as a file: -o q.onnx, then `irbench run q.onnx`.

    --precision converts the result: what that costs is measured on 64 other inputs, beside the graph in fp32. Shapes
    that are bound let more be computed beforehand.
    """
    from irbench.cli.advice import advice
    from irbench.cli.console import check_writable
    from irbench.cli.resolve import resolve_bundles
    from irbench.optimizer import optimize
    from irbench.render.optimize import in_words

    form: Literal["table", "json"] = arguments["form"]
    output: Path | None = arguments["output"]
    models = dict.fromkeys(arguments["models"])
    if output is not None and len(models) > 1:
        raise IrbenchError("-o names one file.", hint="Optimize one model at a time, or leave -o out.")
    if output is not None:
        check_writable(output)
    asked = _recipe(arguments)
    found: list[tuple[Bundle, Optimized]] = []
    for bundle in resolve_bundles(tuple(models), False, _say):
        if output is not None:
            _spare_original(bundle, output)
        sizes = _sizes(bundle, arguments["batch"], dict(arguments["shapes"]))
        found.append((bundle, optimize(bundle, sizes, asked, in_words(_say))))
    _print(found, form, arguments)
    if output is not None:
        _copy(found[0][1].artifact.path, output)
        _say(f"copied to {output}")
    for typed, (bundle, item) in zip(models, found, strict=True):
        for line in advice(typed, bundle, item, output):
            _say(line)


def _recipe(arguments: Mapping[str, Any]) -> Recipe:
    """Return what is to be done.

    Raises:
        IrbenchError: A level is given beside passes, or settings contradict each other.
    """
    from irbench.optimizer import build_recipe

    level, passes = arguments["level"], arguments["passes"]
    if level is not None and passes is not None:
        raise IrbenchError("--passes takes the place of a level.", hint="Leave --level or --passes out.")
    return build_recipe(level or _LEVEL, passes, _conversion(arguments), arguments["layout"])


def _spare_original(bundle: Bundle, output: Path) -> None:
    """Refuse to write over the graph that is to be optimised.

    Raises:
        IrbenchError: That is what -o names.
    """
    artifact = bundle.artifact(("onnx",))
    if artifact is not None and output.exists() and output.samefile(artifact.path):
        raise IrbenchError(f"{output} is the graph that is to be optimised.", hint="Give another path with -o.")


def _conversion(arguments: Mapping[str, Any]) -> Conversion | None:
    """Return what the graphs are converted to, if to anything.

    Raises:
        IrbenchError: An option of int8 is given for another precision.
    """
    from irbench.optimizer import Conversion

    precision, method = arguments["precision"], arguments["quantize"]
    given = {name: arguments[name] for name in ("calibrate", "quantize") if arguments[name] is not None}
    if given and precision != "int8":
        raise IrbenchError(f"--{next(iter(given))} is for int8.", hint="Add --precision int8, or leave it out.")
    if "calibrate" in given and method == "dynamic":
        raise IrbenchError("Dynamic int8 is not calibrated.", hint="Leave --calibrate or --quantize dynamic out.")
    if precision == "fp32":
        return None
    plain = Conversion(precision)
    return Conversion(precision, method or plain.method, arguments["calibrate"] or plain.samples)


def _sizes(bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the free dimensions that were given a size, and no others."""
    from irbench.runner.sizes import bind_sizes, refuse_unknown_inputs

    refuse_unknown_inputs(shapes, (bundle,))
    if batch is None and not shapes:
        return {}
    return dict(bind_sizes(bundle, batch, shapes))


def _bound(bundle: Bundle, optimized: Optimized) -> dict[str, int]:
    """Return the size of each dimension that was free and was bound, in the order of the inputs' axes."""
    artifact = bundle.artifact(("onnx",)) or optimized.artifact
    names = dict.fromkeys(name for spec in artifact.inputs for name in spec.dynamic_dimensions)
    return {name: optimized.lineage.sizes[name] for name in names if name in optimized.lineage.sizes}


def _by_default(bundle: Bundle, bound: Mapping[str, int], arguments: Mapping[str, Any]) -> list[str]:
    """Return which of the bound dimensions no option gave a size."""
    shapes = dict(arguments["shapes"])
    given = {
        name for tensor in bundle.inputs if tensor.tensor.name in shapes for name in tensor.tensor.dynamic_dimensions
    }
    given |= {BATCH} if arguments["batch"] is not None else set()
    return [name for name in bound if name not in given]


def _copy(source: Path, output: Path) -> None:
    from irbench.optimizer import copy_model

    try:
        copy_model(source, output)
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error


def _print(found: list[tuple[Bundle, Optimized]], form: str, arguments: Mapping[str, Any]) -> None:
    import json

    import msgspec

    from irbench.cli.console import print_data

    if form == "json":
        documents = [
            {
                "model": bundle.name,
                "path": str(item.artifact.path),
                "sizes_by_default": _by_default(bundle, _bound(bundle, item), arguments),
                **msgspec.to_builtins(item.lineage),
            }
            for bundle, item in found
        ]
        print_data(json.dumps({"optimized": documents}, indent=2), None)
    else:
        for bundle, item in found:
            _print_table(bundle, item, arguments)


def _print_table(bundle: Bundle, optimized: Optimized, arguments: Mapping[str, Any]) -> None:
    from irbench.cli.console import print_data, to_text
    from irbench.render.optimize import agreement_line, sizes_line, steps_view

    lineage, bound = optimized.lineage, _bound(bundle, optimized)
    print_data(to_text(steps_view(bundle.name, lineage.recipe.name, lineage.steps, _opsets(bundle, optimized))), None)
    if bound:
        print_data(f"  {sizes_line(bound, _by_default(bundle, bound, arguments))}", None)
    if lineage.agreement is not None and lineage.recipe.conversion is not None:
        print_data(f"  {agreement_line(lineage.recipe.conversion.precision, lineage.agreement)}", None)
    print_data(f"  {optimized.artifact.path}", None)  # never wrapped: it is there to be copied


def _opsets(bundle: Bundle, optimized: Optimized) -> tuple[int, int]:
    """Return ONNX' operator set of a graph as it came and as it is."""
    from irbench.onnx.reading.inventory import take_inventory

    original = bundle.artifact(("onnx",)) or optimized.artifact
    before, after = (take_inventory(path).opsets.get("ai.onnx", 0) for path in (original.path, optimized.artifact.path))
    return before, after


def _say(text: str) -> None:
    click.echo(text, err=True)
