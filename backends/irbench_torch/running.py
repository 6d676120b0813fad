"""Calling programs: arrays in, arrays out, and a program as a module without the structure of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.fx.graph import CodeGen
from torch.utils import _pytree as pytree

from irbench.errors import first_line
from irbench.spi import Array, Refusal


def as_tensor(array: Array) -> torch.Tensor:
    """Return a tensor that reads the memory of an array."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def as_array(tensor: torch.Tensor) -> Array:
    """Return a tensor on the host, C-contiguous, as an array that reads its memory where it can."""
    held = tensor.detach().cpu().contiguous()
    if held.dtype is torch.bfloat16:
        held = held.view(torch.uint16)
    array: Array = held.numpy()
    return array.view(ml_dtypes.bfloat16) if tensor.dtype is torch.bfloat16 else array


def with_constants(program: ExportedProgram, tensors: Sequence[torch.Tensor]) -> list[Any]:
    """Return all leaves of a program's inputs: tensors, and between them the constants that it was exported with."""
    given = iter(tensors)
    taken = (spec.arg for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT)
    return [next(given) if isinstance(argument, TensorArgument) else argument.value for argument in taken]


def call(module: Any, program: ExportedProgram, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return what a module answers, flat and without what is no tensor; ``program`` was exported from it, or is it."""
    args, kwargs = pytree.tree_unflatten(with_constants(program, tensors), program.call_spec.in_spec)
    called = module.module(check_guards=False) if isinstance(module, ExportedProgram) else module.eval()
    with torch.inference_mode():
        return [leaf for leaf in pytree.tree_leaves(called(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]


def read_program(path: Path) -> ExportedProgram:
    """Return a program from its file.

    Raises:
        Refusal: Another release of PyTorch wrote it, so that this one cannot read it.
    """
    try:
        return torch.export.load(path)
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise Refusal(
            f"PyTorch {torch.__version__} cannot read the exported program: {first_line(cause)}",
            hint="If it was written by another release, or with classes of a library, export the model again from its"
            " function: irbench export --force.",
        ) from error


def flat_module(program: ExportedProgram) -> torch.fx.GraphModule:
    """Return a program as a module that takes the leaves of its inputs and returns those of its outputs.

    What checks and unpacks nested arguments takes tens of microseconds for each call, and computes nothing.
    """
    module = program.module(check_guards=False)
    assert isinstance(module, torch.fx.GraphModule)
    module.graph.set_codegen(CodeGen())
    module.recompile()
    for hooks in (module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs):  # noqa: SLF001 - no public way
        hooks.clear()
    return module


def tensor_outputs(program: ExportedProgram) -> tuple[int, ...]:
    """Return the places of tensors among the leaves of a program's outputs."""
    specs = [spec for spec in program.graph_signature.output_specs if spec.kind is OutputKind.USER_OUTPUT]
    return tuple(place for place, spec in enumerate(specs) if isinstance(spec.arg, TensorArgument))
