"""A function as one program of StableHLO and as an ONNX graph, and what its inputs and outputs are."""

from __future__ import annotations

import sysconfig
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax2onnx
import onnx
from jax import export

import irbench
from irbench.errors import IrbenchError, first_line
from irbench.spec import BATCH, InputSpec, TensorSpec, is_named_as_mask, is_named_as_padding
from irbench.spec.tensors import names_in
from irbench_jax.sources import Loaded

_NOT_THE_USERS = (
    Path(irbench.__path__[0]),
    Path(__file__).parent,
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
)
"""Folders in which no line is the user's."""


@dataclass(frozen=True)
class Traced:
    """A program, and its inputs and outputs.

    Attributes:
        program: Takes any batch, or the one that it was traced with.
        inputs: Logical inputs; the first axis of those that count samples is the batch.
        taken: Inputs as the program takes them, with a fixed batch in their shapes.
        outputs: With the names of dynamic dimensions.
        defaults: Sizes of dynamic dimensions, and of a fixed batch.
        why_fixed: Why the function takes no other batch, where that was tried; otherwise empty.
    """

    program: export.Exported
    inputs: tuple[InputSpec, ...]
    taken: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    defaults: Mapping[str, int]
    why_fixed: str = ""

    @property
    def batch_axes(self) -> tuple[int | None, ...]:
        """The axis of each output that counts samples."""
        batch = self.defaults.get(BATCH)
        counting = [
            [axis for axis, size in enumerate(spec.shape) if BATCH in names_in(size) or (axis == 0 and size == batch)]
            for spec in self.outputs
        ]
        return tuple(axes[0] if axes else None for axes in counting)


def trace(loaded: Loaded, batch: int | None) -> Traced:
    """Export a function with a dynamic batch, or with one of ``batch`` samples.

    A function that takes no other batch than that of its examples keeps it. The batch is the first axis of the first
    input, and of all others that are as long and do not name that axis.

    Raises:
        IrbenchError: It cannot be exported; says which primitive or line is at fault.
    """
    specs: list[TensorSpec] = []
    defaults: dict[str, int] = {}
    samples: int | None = None
    for name, example in loaded.inputs.items():
        named: dict[int, str] = dict(loaded.dimensions.get(name, {}))
        defaults |= {dimension: example.shape[axis] for axis, dimension in named.items()}
        if example.ndim and 0 not in named:
            samples = example.shape[0] if samples is None else samples
            named |= {0: BATCH} if example.shape[0] == samples else {}
        shape = tuple(named.get(axis, int(size)) for axis, size in enumerate(example.shape))
        specs.append(TensorSpec(name, str(example.dtype), shape))
    inputs = tuple(map(_input, specs, loaded.inputs.values()))

    def exported(fixed: Mapping[str, int]) -> Traced:
        taken = tuple(spec.bind(fixed) for spec in specs)
        with jax.default_matmul_precision("highest"):
            program = export.export(jax.jit(loaded.function), platforms=("cpu",))(*_arguments(taken))
        outputs = tuple(_outputs(program, tuple(loaded.inputs)))
        return Traced(program, inputs, taken, outputs, {**defaults, **fixed})

    try:
        if batch is not None or samples is None:
            return exported({BATCH: batch or 1})
        try:
            others = {**defaults, BATCH: samples + 1}  # a program with a dynamic batch may be for a single one
            jax.eval_shape(loaded.function, *_arguments([spec.bind(others) for spec in specs]))
            return exported({})
        except Exception as error:  # noqa: BLE001 - whatever the function raises with another batch
            return replace(exported({BATCH: samples}), why_fixed=first_line(error))
    except Exception as error:
        raise _not_possible(f"{loaded.name} cannot be exported by JAX", error) from error


def _arguments(specs: Sequence[TensorSpec]) -> list[jax.ShapeDtypeStruct]:
    scope = export.SymbolicScope()
    shapes = [export.symbolic_shape(", ".join(map(str, spec.shape)), scope=scope) for spec in specs]
    return [jax.ShapeDtypeStruct(shape, spec.dtype) for shape, spec in zip(shapes, specs, strict=True)]


def _outputs(program: export.Exported, taken: Sequence[str]) -> Iterator[TensorSpec]:
    places = jax.tree.unflatten(program.out_tree, range(len(program.out_avals)))
    for (path, _), value in zip(jax.tree_util.tree_leaves_with_path(places), program.out_avals, strict=True):
        key = jax.tree_util.keystr(path, simple=True, separator="_")
        name = f"output_{key}" if key[:1].isdigit() or key in taken else key or "output"
        shape = tuple(size if isinstance(size, int) else str(size) for size in value.shape)
        yield TensorSpec(name, str(value.dtype), shape)


def _input(spec: TensorSpec, example: Any) -> InputSpec:
    """Return an input whose generated values are in the range of its example."""
    low, high = (float(example.min()), float(example.max())) if example.size else (0.0, 1.0)
    if not jax.numpy.issubdtype(example.dtype, jax.numpy.floating):
        high += 1
    elif low == high:
        low, high = 0.0, 1.0  # an example of zeros or ones stands for any values
    is_mask = is_named_as_mask(spec.name)
    return InputSpec(spec, low, high, is_mask, is_mask and is_named_as_padding(spec.name, spec.dtype))


def write(loaded: Loaded, traced: Traced, program_file: Path, onnx_file: Path, opset: int) -> onnx.ModelProto:
    """Write a function as a program and as ONNX, and return the ONNX model.

    Raises:
        IrbenchError: jax2onnx cannot convert it; names the first primitive that is not supported, and its line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = jax2onnx.to_onnx(
                loaded.function,
                traced.program.in_avals,
                model_name=loaded.name,
                opset=opset,
                enable_double_precision=bool(jax.config.jax_enable_x64),
                input_names=list(loaded.inputs),
                output_names=[spec.name for spec in traced.outputs],
            )
        assert isinstance(model, onnx.ModelProto)
        for values, specs in ((model.graph.input, traced.taken), (model.graph.output, traced.outputs)):
            for value, spec in zip(values, specs, strict=True):
                shape = value.type.tensor_type.shape
                shape.Clear()
                for size in spec.shape:
                    shape.dim.add(**({"dim_value": size} if isinstance(size, int) else {"dim_param": size}))
        onnx.save(model, onnx_file)
        program_file.write_bytes(traced.program.serialize())
    except Exception as error:
        raise _not_possible(f"{loaded.name} cannot be converted to ONNX", error) from error
    return model


def _not_possible(what: str, error: Exception) -> IrbenchError:
    """Return an error that names the primitive that was lowered when it was raised, and the line of the user's code.

    Errors of JAX and jax2onnx have the primitive in their frames alone, as an equation and those that it is part of.
    """
    raised = [error, *([error.__context__] if error.__context__ else [])]  # with a fixed batch, and before that
    found: list[Any] = [
        frame.f_locals.get("eqn") for each in raised for frame, _ in traceback.walk_tb(each.__traceback__)
    ]
    equations = [equation for equation in found if hasattr(equation, "primitive")]
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    for equation in equations:
        frames = equation.source_info.traceback.frames if equation.source_info.traceback else ()
        lines += [(frame.file_name, frame.line_num) for frame in reversed(frames)]
    own = [
        f" at {Path(file).name}:{line}"
        for file, line in lines
        if not any(Path(file).is_relative_to(folder) for folder in _NOT_THE_USERS)
    ]
    primitive = f": the primitive {equations[-1].primitive} is not supported" if equations else ""
    return IrbenchError(
        f"{what}{own[-1] if own else ''}{primitive}: {first_line(error)}",
        hint="Write that line with other functions of jax.numpy or jax.lax. If it needs to know the size of the batch,"
        " fix it: `--batch 1`.",
    )
