"""The result of an optimisation in words: its passes, on what it was checked, warnings and next steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from irbench.core.graph_record import (
    KIND_TEXTS,
    LEFT_OUT_TEXTS,
    UNCHECKED_TEXTS,
    GraphCheck,
    GraphStep,
    UncheckedBody,
    UncheckedReason,
)
from irbench.core.plain_text import plain
from irbench.core.quantities import listing, plural
from irbench.errors import IrbenchError
from irbench.notices import Context
from irbench.notices.conversions import agreement_lines, beyond_text, missed_limit_text
from irbench.notices.notes import LayoutUnchanged
from irbench.optimizer import Lineage, Optimized, calibration_note, variant
from irbench.render import optimized_graphs
from irbench.spec import BATCH, Bundle, Disagreement, TensorSpec, shape_text

_REMEDIES = {
    "quantize_static": "--precision fp16, --quantize dynamic or more --calibrate",
    "narrow_to_fp16": "--precision bf16",
}
"""What may keep more of the answers than a conversion did; fp16 where nothing else is said."""

_CONSEQUENCES = {
    "opset-not-raised": "passes that need a later one left the graph alone",
    "functions-not-inlined": "passes left them alone",
    "crashed": "the graph stays as it was before {name}",
}
"""What it means that a graph could not be prepared."""

_GIVE_INPUTS = "Give inputs that lead there with --data"
_UNCHECKED_REMEDIES: Mapping[UncheckedReason, str] = {
    "other-shapes": "Fix such sizes with --shape to check it",
    "not-followed": "Compare the outputs on inputs that lead into every branch",
}
_MOST_UNCHECKED = 5


def steps_view(
    model: str, lineage: Lineage, opsets: tuple[int, int], bound: Mapping[str, int], bound_by_default: Sequence[str]
) -> Group:
    """Return the passes with what each changed, which sizes were bound, and what the result was compared on."""
    lines = [optimized_graphs.sizes_line(bound, bound_by_default)] if bound else []
    lines += check_lines(lineage.checked) if lineage.checked is not None else []
    if lineage.agreement is not None and lineage.recipe.conversion is not None:
        lines += agreement_lines(lineage.recipe.conversion.precision, lineage.agreement)
    passes = optimized_graphs.steps_view(model, lineage.recipe.name, lineage.steps, opsets)
    return Group(passes, *(Padding(Text(line), (0, 0, 0, 2), expand=False) for line in lines))


def advice(
    typed: str, bundle: Bundle, optimized: Optimized, output: Path | None, inputs: Sequence[str] = ()
) -> Iterator[str]:
    """Yield warnings of a result, each with its remedy, and how to go on.

    ``typed`` is the model as the user named it, ``inputs`` are the options for data and constants that the user gave.
    """
    lineage = optimized.lineage
    name, recipe = bundle.name, lineage.recipe
    if recipe.layout == "nchw" and not lineage.nchw_inputs:
        layout = LayoutUnchanged(model=name, variant=recipe.name)
        yield f"warning: {layout.text(Context())}"
    yield from (f"warning: {name}: {text}" for text in _shortcomings(lineage))
    yield from _sizes_to_bind(bundle, lineage)
    generated = calibration_note(name, lineage)
    if generated is not None:
        yield f"warning: {generated.text(Context())}"
    if lineage.agreement is not None and lineage.agreement.degenerate:
        yield (
            f"warning: {name}+{recipe.name}: the comparison with fp32 says little, because fp32 answers these inputs"
            " with zeros, constants or tiny values. Give real inputs with --data"
        )
    fits = None if lineage.agreement is None else lineage.agreement.narrow_range
    if fits is not None and fits.beyond:
        yield f"warning: {name}+{recipe.name}: {beyond_text(fits)}. Use --precision bf16, whose range is that of fp32"
    if lineage.disagreement is not None:
        yield f"warning: {name}+{recipe.name} {_failure(lineage.steps[-1].name, lineage.disagreement)}"
    elif not any(_did_work(step, lineage.steps[0]) for step in lineage.steps):
        yield f"{name}: nothing to simplify"
    elif _can_be_named(lineage):
        options = (*_sizes_given(bundle, lineage), *inputs, f"--optimize none,{recipe.name}")
        yield " ".join((f"measure it: irbench run {quote(typed)}", *options))
    elif output is not None:
        has_data = any(option.startswith("--data ") for option in inputs)
        shapes = () if has_data else _shapes_to_give(bundle, optimized)
        yield " ".join((f"measure it: irbench run {quote(str(output))}", *shapes, *inputs))
    else:
        yield "measure it as a file: add -o FILE"


def _did_work(step: GraphStep, original: GraphStep) -> bool:
    """Whether a step changed what is executed: a later operator set alone does not."""
    return step.modified and (step.name != "raise_opset" or step.operators != original.operators)


def _shortcomings(lineage: Lineage) -> Iterator[str]:
    """Yield what kept passes from working, and what could not be checked."""
    obstacles = {step.name: step.obstacle for step in lineage.steps if step.obstacle is not None}
    for name, obstacle in obstacles.items():
        if obstacle.code in _CONSEQUENCES:
            yield f"{obstacle.text()}; {_CONSEQUENCES[obstacle.code].format(name=name)}"
    if lineage.checked is not None:
        yield from unchecked_texts(lineage.checked)


def _sizes_given(bundle: Bundle, lineage: Lineage) -> Iterator[str]:
    """Yield options for the sizes that were bound and that a run does not take by itself."""
    usual = {BATCH: 1, **bundle.defaults}
    if lineage.sizes.get(BATCH, usual[BATCH]) != usual[BATCH]:
        yield f"--batch {lineage.sizes[BATCH]}"
    for spec in (tensor.tensor for tensor in bundle.inputs):
        names = set(spec.dynamic_dimensions) - {BATCH}
        sizes = {**_usual_sizes(bundle, lineage), **lineage.sizes}
        if any(sizes.get(name) != usual.get(name) for name in names):
            yield f"--shape {quote(_shape(spec, sizes))}"


def _shapes_to_give(bundle: Bundle, optimized: Optimized) -> Iterator[str]:
    """Yield options for the inputs whose shapes a file leaves free, for which it holds no sizes itself."""
    for spec in optimized.artifact.inputs:
        if set(spec.dynamic_dimensions) - {BATCH}:
            yield f"--shape {quote(_shape(spec, _usual_sizes(bundle, optimized.lineage)))}"


def _usual_sizes(bundle: Bundle, lineage: Lineage) -> Mapping[str, int]:
    """Return the default sizes, and those of a check for dimensions without one."""
    checked = lineage.checked.inputs[:1] if lineage.checked is not None else ()
    return {**{name: size for case in checked for name, size in case.sizes.items()}, **bundle.defaults, BATCH: 1}


def _shape(spec: TensorSpec, sizes: Mapping[str, int]) -> str:
    """Return an input with its shape, a free dimension without a size as 1: ``tokens=1x128``."""
    return f"{spec.name}={shape_text([1 if isinstance(size, str) else size for size in spec.bind(sizes).shape])}"


def _sizes_to_bind(bundle: Bundle, lineage: Lineage) -> Iterator[str]:
    """Yield a line where no attention was fused, and some is once sizes are bound."""
    tensors = [spec.tensor for spec in bundle.inputs]
    names = dict.fromkeys(name for tensor in tensors for name in tensor.dynamic_dimensions if name not in lineage.sizes)
    if not lineage.fuses_when_bound or not set(names) - {BATCH}:
        return
    first = next(tensor for tensor in tensors if set(tensor.dynamic_dimensions) - {BATCH})
    yield (
        f"sizes are free ({', '.join(names)}): with these bound attention is fused: "
        f"--batch 1 --shape {quote(_shape(first, _usual_sizes(bundle, lineage)))}"
    )


def _failure(conversion: str, disagreement: Disagreement) -> str:
    missed = missed_limit_text(disagreement)
    return f"answers differently from fp32: {missed}. Try {_REMEDIES.get(conversion, '--precision fp16')}."


def _can_be_named(lineage: Lineage) -> bool:
    """Whether ``irbench run --optimize`` makes this graph of its name alone, but for the sizes."""
    is_drawn_otherwise = lineage.agreement is not None and lineage.agreement.drawn != "declared"
    if lineage.recipe.conversion is not None and (lineage.data_sha256 or is_drawn_otherwise):
        return False  # its name alone does not tell the inputs
    try:
        return variant(lineage.recipe.name) == lineage.recipe
    except IrbenchError:
        return False


def check_lines(checked: GraphCheck) -> Iterator[str]:
    """Yield what was compared: ``checked on 5 inputs (seeded, large, ...); batch 1, 2 and 3``."""
    kinds = dict.fromkeys(KIND_TEXTS[checked_input.kind] for checked_input in checked.inputs)
    sizes = "".join(f"; {text}" for text in _sizes(checked))
    yield f"checked on {plural(len(checked.inputs), 'input')} ({', '.join(kinds)}){sizes}"
    never = sum(body.iterations is None for body in checked.unchecked)
    if checked.bodies or never:
        yield f"checked {checked.bodies} of {plural(checked.bodies + never, 'subgraph')} of If, Loop and Scan"
    for name, text in checked.computed.items():
        yield f"{plain(name)} was taken for {plain(text)}"
    for kind, reason in checked.left_out.items():
        yield f"not checked on {KIND_TEXTS[kind]} inputs: {LEFT_OUT_TEXTS[reason]}"
    if checked.unvaried:
        names = listing([plain(name) for name in checked.unvaried])
        yield f"not checked at other sizes of {names}: the original runs at none that was tried"


def unchecked_texts(checked: GraphCheck) -> Iterator[str]:
    """Yield a sentence for each branch or body that was not compared, with its remedy, for the first few of them."""
    for body in checked.unchecked[:_MOST_UNCHECKED]:
        remedy = _UNCHECKED_REMEDIES.get(body.reason, _GIVE_INPUTS)
        yield f"{_what(body)} was not checked: {UNCHECKED_TEXTS[body.reason]}. {remedy}"
    more = len(checked.unchecked) - _MOST_UNCHECKED
    if more > 0:
        yield f"{more} more of such a kind; --format json has all of them"


def _what(body: UncheckedBody) -> str:
    node = f"{body.operator} {plain(body.node)}"
    return (
        f"{body.part} of {node}" if body.iterations is None else f"{node} with {plural(body.iterations, 'iteration')}"
    )


def _sizes(checked: GraphCheck) -> Iterator[str]:
    for name in checked.inputs[0].sizes if checked.inputs else ():
        sizes = sorted({checked_input.sizes[name] for checked_input in checked.inputs})
        yield f"{plain(name)} {listing([str(size) for size in sizes])}"
