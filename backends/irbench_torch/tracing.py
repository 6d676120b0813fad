"""A module as one program of ATen operators, and what its inputs and outputs are."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.exc import UserError
from torch.export import Dim, ExportedProgram, ShapesCollection
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree

from irbench.core import feeds
from irbench.errors import IrbenchError, first_line
from irbench.spec import BATCH, InputSpec, TensorSpec, is_named_as_mask, is_named_as_padding
from irbench.spec.tensors import Shape, names_in, renamed
from irbench_torch.sources import HOW_INPUTS_ARE_GIVEN, Loaded

_OWN_CODE = (Path(str(torch.__file__)).parent, Path(__file__).parent)
"""Where no line is the user's."""
_LONGEST_REASON = 400
_DTYPES = frozenset({"float64", "float32", "float16", "bfloat16", "bool", "int64", "int32", "int16", "int8", "uint8"})


@dataclass(frozen=True)
class Traced:
    """A program, and its inputs and outputs.

    Attributes:
        program: Takes any batch, or the one that it was traced with.
        inputs: Logical inputs; the first axis of those that count samples is the batch.
        outputs: With the names of dynamic dimensions.
        defaults: Sizes of dynamic dimensions, and of a fixed batch.
        why_fixed: Why the module takes no other batch, where that was tried; otherwise empty.
    """

    program: ExportedProgram
    inputs: tuple[InputSpec, ...]
    outputs: tuple[TensorSpec, ...]
    defaults: Mapping[str, int]
    why_fixed: str = ""

    @property
    def batch(self) -> int | None:
        """The batch, where it is fixed."""
        return self.defaults.get(BATCH)

    @property
    def input_tensors(self) -> tuple[TensorSpec, ...]:
        """Inputs as the program takes them, with a fixed batch in their shapes."""
        fixed = {} if self.batch is None else {BATCH: self.batch}
        return tuple(spec.tensor.bind(fixed) for spec in self.inputs)

    @property
    def batch_axes(self) -> tuple[int | None, ...]:
        """The axis of each output that counts samples."""
        return tuple(_batch_axis(spec.shape, self.batch) for spec in self.outputs)


def _batch_axis(shape: Shape, batch: int | None) -> int | None:
    counting = (axis for axis, size in enumerate(shape) if BATCH in names_in(size) or (axis == 0 and size == batch))
    return next(counting, None)


def trace(loaded: Loaded, batch: int | None) -> Traced:
    """Export a module, in evaluation mode, with a dynamic batch, or with one of ``batch`` samples.

    A module that takes no other batch than that of its examples keeps it. The batch is the first axis of the first
    input, and of all others that are as long and do not name that axis.

    Raises:
        IrbenchError: It cannot be exported; says at which line of the user's code.
    """
    if isinstance(loaded.module, ExportedProgram):
        return _with_batch(described(loaded.module, loaded.dimensions), loaded.name, batch)
    leaves, structure = pytree.tree_flatten((loaded.args, dict(loaded.kwargs)))
    declared = _declared(loaded, leaves, structure)
    samples = next((len(leaf) for leaf in leaves if _has_axes(leaf)), 1)
    names = [
        {0: BATCH, **own} if _has_axes(leaf) and len(leaf) == samples else own
        for leaf, own in zip(leaves, declared, strict=True)
    ]

    def export(count: int, *, is_dynamic: bool) -> Traced:
        given = [
            _resized(leaf, count) if own.get(0) == BATCH else leaf for leaf, own in zip(leaves, names, strict=True)
        ]
        args, kwargs = pytree.tree_unflatten(given, structure)
        shapes = ShapesCollection()
        for leaf, own in zip(given, names, strict=True):
            axes = {axis: Dim.DYNAMIC for axis, name in own.items() if is_dynamic or name != BATCH}
            if axes:
                shapes[leaf] = axes
        module = _flat_outputs(loaded.module)
        dynamic = shapes.dynamic_shapes(module, args, kwargs) if len(shapes) else None
        program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)
        taken = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
        return described(program, {name: own for name, own in zip(taken, names, strict=True) if own})

    modes = [(part, part.training) for part in loaded.module.modules()]
    loaded.module.eval()
    try:
        _require_call(loaded)
        if batch is not None:
            return export(batch, is_dynamic=False)
        try:
            return export(max(samples, 2), is_dynamic=True)  # a size of 1 would become a constant
        except UserError as error:
            return replace(export(samples, is_dynamic=False), why_fixed=first_line(error))
    except IrbenchError:
        raise
    except Exception as error:
        raise _not_exported(loaded.name, error) from error
    finally:
        for part, mode in modes:
            part.training = mode


def _require_call(loaded: Loaded) -> None:
    try:
        with torch.inference_mode():
            loaded.module(*loaded.args, **loaded.kwargs)
    except Exception as error:
        raise IrbenchError(
            f"{loaded.name} fails when it is called with its example inputs{_users_line(error)}: {first_line(error)}",
            hint="Fix the module or its inputs; calling it in Python shows where it fails.",
        ) from error


def _flat_outputs(module: Any) -> torch.nn.Module:
    """Return a module that answers a dict of tensors, by the names that lead to them in what ``module`` answers.

    A program that returned a class could be read only where its library is imported.
    """

    def forward(*args: Any, **kwargs: Any) -> dict[str, Any]:
        leaves, structure = pytree.tree_flatten(module(*args, **kwargs))
        names = _unique(map(_output_name, _leaf_names(structure)), set())
        return {name: leaf for name, leaf in zip(names, leaves, strict=True) if leaf is not None}

    forward.__signature__ = inspect.signature(module.forward)  # type: ignore[attr-defined]
    whole = torch.nn.Module()
    whole.module, whole.forward = module, forward
    return whole


def _output_name(path: str) -> str:
    return f"output_{path}" if path[:1].isdigit() else path or "output"


def _unique(names: Iterable[str], used: set[str]) -> Iterator[str]:
    """Yield each name, with a number behind it where it is taken."""
    for name in names:
        free = next(own for own in (name, *(f"{name}_{number}" for number in range(1, 1000))) if own not in used)
        used.add(free)
        yield free


def _with_batch(traced: Traced, name: str, batch: int | None) -> Traced:
    """Return a saved program with the batch that is asked for."""
    if batch is None or batch == traced.batch:
        return traced
    if traced.batch is not None:
        raise IrbenchError(
            f"{name} was exported with a batch of {traced.batch}, and takes no other.", hint="Leave --batch out."
        )
    outputs = tuple(spec.bind({BATCH: batch}) for spec in traced.outputs)
    return replace(traced, outputs=outputs, defaults={**traced.defaults, BATCH: batch})


def _has_axes(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.ndim > 0


def _resized(leaf: torch.Tensor, count: int) -> torch.Tensor:
    """Return as many samples as asked for, repeating those that are there."""
    return leaf[torch.arange(count) % len(leaf)]


def _declared(loaded: Loaded, leaves: Sequence[Any], structure: pytree.TreeSpec) -> list[Mapping[int, str]]:
    """Return for each leaf of the inputs the names of its dynamic dimensions, by axis."""
    args, kwargs = structure.children()
    taken = list(inspect.signature(loaded.module.forward).parameters)
    parameters = [taken[min(place, len(taken) - 1)] for place in range(len(loaded.args))]
    repeated = {name for name in parameters if parameters.count(name) > 1}  # those of *args
    keys = [f"{name}_{place}" if name in repeated else name for place, name in enumerate(parameters)]
    names = [*_leaf_names(args, keys), *_leaf_names(kwargs, list(loaded.kwargs))]
    unknown = sorted(set(loaded.dimensions) - set(names))
    if unknown:
        raise IrbenchError(
            f"{loaded.name} has no input {unknown[0]}; it has {', '.join(names)}.", hint=HOW_INPUTS_ARE_GIVEN
        )
    for name, leaf in zip(names, leaves, strict=True):
        for axis, dimension in loaded.dimensions.get(name, {}).items():
            if not _has_axes(leaf) or not 0 <= axis < leaf.ndim or (dimension == BATCH and axis):
                raise IrbenchError(
                    f"{name} of {loaded.name} cannot have the dimension {dimension} at axis {axis}.",
                    hint="Count axes from 0; the batch is always the first axis: transpose in the module if it is not.",
                )
    return [loaded.dimensions.get(name, {}) for name in names]


def _leaf_names(structure: pytree.TreeSpec, keys: Sequence[Any] | None = None, prefix: str = "") -> Iterator[str]:
    """Yield a name for each leaf of a nested structure: the keys that lead to it."""
    if structure.is_leaf():
        yield prefix
        return
    children = structure.children()
    context = getattr(structure.context, "_fields", structure.context)  # that of a named tuple is its class
    if keys is None:
        keys = context if isinstance(context, list | tuple) and len(context) == len(children) else range(len(children))
    for key, child in zip(keys, children, strict=True):
        yield from _leaf_names(child, None, f"{prefix}_{key}" if prefix else str(key))


def described(program: ExportedProgram, declared: Mapping[str, Mapping[int, str]]) -> Traced:
    """Return what the inputs and outputs of a program are.

    Args:
        program: The program, with example inputs.
        declared: Names of dimensions by axis, by the program's own name of the input. Where there are none at all, the
            first axis of the first input is the batch.

    Raises:
        IrbenchError: It changes its state or its inputs, or irbench cannot give it inputs or compare its outputs.
    """
    _refuse_effects(program)
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    taken = [spec.arg for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    examples = pytree.tree_leaves(program.example_inputs)
    inputs: list[InputSpec] = []
    names: dict[str, str] = {}
    defaults: dict[str, int] = {}
    batch: int | None = None
    for argument, example in zip(taken, examples, strict=True):
        if not isinstance(argument, TensorArgument):
            continue
        sizes = list(values[argument.name].shape)
        own = declared.get(argument.name, {})
        own = {0: BATCH} if sizes and not declared and not names and batch is None else own
        for axis, size in enumerate(sizes):
            if isinstance(size, torch.SymInt) and str(size) not in names:
                names[str(size)] = own.get(axis, f"{argument.name}_{axis}")
                defaults[names[str(size)]] = example.shape[axis]
        if sizes and own.get(0) == BATCH and isinstance(sizes[0], int):
            batch = sizes[0]
        counts = sizes and sizes[0] == batch and (not declared or own.get(0) == BATCH)
        shape = tuple(_size(size, names) for size in sizes)
        shape = (BATCH, *shape[1:]) if counts else shape
        inputs.append(_input(TensorSpec(argument.name, _dtype(argument.name, example), shape), example))
    defaults.pop(BATCH, None)
    if batch is not None:
        defaults[BATCH] = batch
    outputs = tuple(_outputs(program, values, names))
    _require_batches(program, names)
    return Traced(program, tuple(inputs), outputs, defaults)


def _refuse_effects(program: ExportedProgram) -> None:
    # as exported, a program changes tensors in place; without decompositions it is only made functional
    for spec in program.run_decompositions({}).graph_signature.output_specs:
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION):
            name = str(spec.target).removeprefix("module.")  # of what flattens the outputs
            what = "input" if spec.kind is OutputKind.USER_INPUT_MUTATION else "buffer"
            raise IrbenchError(
                f"The module changes its {what} {name} when it is called, so that calls do not repeat.",
                hint="Return the new value as an output, and give it as an input of the next call.",
            )
        if spec.kind is OutputKind.USER_OUTPUT and spec.arg.name in program.graph_signature.user_inputs:
            raise IrbenchError(
                f"The module returns its input {spec.arg.name} unchanged.",
                hint="Leave it out, or return its clone.",
            )


def _require_batches(program: ExportedProgram, names: Mapping[str, str]) -> None:
    """Refuse a program whose batch has bounds that exclude the samples that it is verified with."""
    for symbol, bounds in program.range_constraints.items():
        if names.get(str(symbol)) == BATCH and not bounds.lower <= 2 <= feeds.POOL <= bounds.upper:
            raise IrbenchError(
                f"The program takes batches of {bounds.lower} to {bounds.upper} alone.",
                hint=f"Export it again for all batches up to {feeds.POOL}, or with a fixed one.",
            )


def _outputs(program: ExportedProgram, values: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[TensorSpec]:
    returned = [spec.arg for spec in program.graph_signature.output_specs if spec.kind is OutputKind.USER_OUTPUT]
    used = {str(name) for name in program.graph_signature.user_inputs}
    names_of = _unique(map(_output_name, _leaf_names(program.call_spec.out_spec)), used)
    for name, argument in zip(names_of, returned, strict=True):
        if isinstance(argument, TensorArgument):
            value = values[argument.name]
            yield TensorSpec(name, _dtype(name, value), tuple(_size(size, names) for size in value.shape))
        elif getattr(argument, "value", 0) is not None:
            raise IrbenchError(f"{name} of the module is no tensor.", hint="Return tensors alone, or None.")


def _input(spec: TensorSpec, example: torch.Tensor) -> InputSpec:
    """Return an input whose generated values are in the range of its example."""
    finite = example[torch.isfinite(example)] if example.is_floating_point() else example
    low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 0.0)
    if low == high and example.ndim and low in (0, 1):  # examples of zeros or ones stand for any values
        low, high = 0.0, 1.0
    high += 0 if example.is_floating_point() else 1
    is_mask = is_named_as_mask(spec.name)
    return InputSpec(spec, low, high, is_mask, is_mask and is_named_as_padding(spec.name, spec.dtype))


def _dtype(name: str, tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in _DTYPES:
        raise IrbenchError(
            f"{name} is {dtype}, which irbench cannot generate or compare.",
            hint="Use real numbers, integers or booleans.",
        )
    return dtype


def _size(size: Any, names: Mapping[str, str]) -> int | str:
    return renamed(str(size), names) if isinstance(size, torch.SymInt) else int(size)


def _not_exported(name: str, error: Exception) -> IrbenchError:
    """Return that a module cannot be exported, and at which line of the user's code."""
    reason, hint = first_line(error), "Write that part with other operations."
    if isinstance(error, GuardOnDataDependentSymNode):
        reason = "what it does next depends on values of tensors"
        hint = "Write that line with torch.where or torch.cond, for example, in place of if."
    elif isinstance(error, UserError):
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        hint = "Leave out the name of a dimension that the module fixes, and give examples of 2 and more in the others."
    return IrbenchError(f"{name} cannot be exported by PyTorch{_users_line(error)}: {reason}", hint=hint)


def _users_line(error: Exception) -> str:
    """Return the last line of the user's that led to an error; empty where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(Path(frame.filename).is_relative_to(folder) for folder in _OWN_CODE)]
    return f" at {Path(own[-1].filename).name}:{own[-1].lineno} ({own[-1].line})" if own else ""
