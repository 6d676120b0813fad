"""What a source names: a module with its example inputs, or a program that was exported before."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError, first_line
from irbench.spi import Acceptance, ExportRequest
from irbench.spi.user_functions import blaming_function, call_user_function, import_first, is_function
from irbench_torch import hugging_face

PROGRAM_SUFFIX = ".pt2"
_NAMES = "irbench_dimensions.json"
"""The file within a saved program in which names of dimensions are kept."""
HOW_INPUTS_ARE_GIVEN = (
    "Give (module, example_inputs), with a tuple of positional inputs or a dict of keyword inputs; a third element"
    ' names dynamic dimensions besides the batch: {"tokens": {1: "length"}}.'
)


@dataclass(frozen=True)
class Loaded:
    """A module and what it is called with.

    Attributes:
        name: What tables call it.
        module: A ``torch.nn.Module`` in inference mode, or a ``torch.export.ExportedProgram``.
        args: Positional example inputs.
        kwargs: Keyword example inputs.
        dimensions: Names of dimensions by axis, by the input's name; of a program also that of the batch.
    """

    name: str
    module: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dimensions: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])


def accepts(source: str) -> Acceptance:
    """Return whether a source is a saved program or a Hugging Face folder, or may return a module."""
    path = Path(source)
    if hugging_face.is_model_folder(path) or (path.suffix == PROGRAM_SUFFIX and path.is_file()):
        return "certain"
    return "perhaps" if is_function(source) else "no"


def owns(made: object) -> bool:
    """Whether something is a module or a program of PyTorch, alone or with its example inputs."""
    model = made[0] if isinstance(made, tuple) and made else made
    return _is(model, "torch.nn", "Module") or _is(model, "torch.export", "ExportedProgram")


def _is(model: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)


def load(request: ExportRequest) -> Loaded:
    """Build or read the model of a request, in inference mode.

    Raises:
        IrbenchError: It cannot be loaded, or has no example inputs.
    """
    import torch

    if request.weights not in (None, "random"):
        raise IrbenchError(
            f"{request.source} takes no weights from a file.",
            hint="Load them in the function that makes the module, with load_state_dict.",
        )
    _announce_reads()
    import_first(request.imports)
    torch.manual_seed(request.seed)
    path = Path(request.source)
    if path.is_dir():
        return loaded_of(hugging_face.load(path, request.weights), path.absolute().name, request.source)
    if path.suffix == PROGRAM_SUFFIX:
        return _read(path)
    with blaming_function(request.source):
        made = call_user_function(request.source, owns)
    return loaded_of(made, request.source.rpartition(":")[2], request.source)


def loaded_of(made: object, name: str, source: str) -> Loaded:
    """Return a module, or a module with its example inputs, ready to be exported.

    Args:
        made: ``(module, inputs)``, ``(module, inputs, dimensions)``, a module with an attribute ``example_inputs``, or
            an exported program, which holds its own.
        name: What tables call it.
        source: What an error calls it.

    Raises:
        IrbenchError: It has no example inputs.
    """
    model, *given = made if isinstance(made, tuple) and made else (made,)
    if _is(model, "torch.export", "ExportedProgram"):
        return Loaded(name, model)
    inputs = given[0] if given else getattr(model, "example_inputs", None)
    dimensions = (given[1] if len(given) > 1 else getattr(model, "dynamic_dimensions", None)) or {}
    if not _is(model, "torch.nn", "Module") or _is(model, "torch.jit", "ScriptModule"):
        raise IrbenchError(
            f"{source} gives {type(model).__name__}, which torch.export does not take.",
            hint="Give the torch.nn.Module that it was made of.",
        )
    if inputs is None:
        raise IrbenchError(f"{source} gives no example inputs of {type(model).__name__}.", hint=HOW_INPUTS_ARE_GIVEN)
    args, kwargs = _arguments(inputs)
    if not any(_is(leaf, "torch", "Tensor") for leaf in _leaves((args, kwargs))):
        raise IrbenchError(f"{source} gives example inputs without a tensor.", hint=HOW_INPUTS_ARE_GIVEN)
    if not isinstance(dimensions, Mapping) or not all(isinstance(axes, Mapping) for axes in dimensions.values()):
        raise IrbenchError(f"{source} gives {dimensions!r} as dimensions.", hint=HOW_INPUTS_ARE_GIVEN)
    return Loaded(name, model, args, kwargs, dimensions)


def _arguments(inputs: object) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs), {}) if isinstance(inputs, list | tuple) else ((inputs,), {})


def _leaves(value: object) -> Sequence[Any]:
    from torch.utils import _pytree

    leaves: Sequence[Any] = _pytree.tree_leaves(value)
    return leaves


def save(program: Any, names: Mapping[str, Mapping[int, str]], path: Path) -> None:
    """Write a program, and what its dimensions are called.

    Raises:
        IrbenchError: Its inputs or outputs have a structure of a class that cannot be written.
    """
    import torch

    try:
        torch.export.save(program, path, extra_files={_NAMES: json.dumps(names)})
    except NotImplementedError as error:
        raise IrbenchError(
            f"The exported program cannot be saved: {first_line(error)}",
            hint="Give the module tuples, lists and dicts of tensors as inputs, not classes.",
        ) from error


def _read(path: Path) -> Loaded:
    import torch

    further = {_NAMES: ""}
    try:
        program = torch.export.load(path, extra_files=further)
    except Exception as error:
        raise IrbenchError(
            f"{path} cannot be read as an exported program: {first_line(error)}",
            hint="Write it with the PyTorch that is installed here: torch.export.save(program, 'model.pt2').",
        ) from error
    if program.example_inputs is None:
        raise IrbenchError(
            f"{path} holds no example inputs.", hint="Export it again with torch.export.export, which keeps them."
        )
    names = json.loads(further[_NAMES] or "{}")
    dimensions = {name: {int(axis): own[axis] for axis in own} for name, own in names.items()}
    return Loaded(path.stem, program, dimensions=dimensions)


def _announce_reads() -> None:
    """Let irbench see the files of weights that safetensors opens by itself."""
    if find_spec("safetensors") is None:
        return
    import safetensors
    import safetensors.torch

    opened = safetensors.safe_open

    def announced(filename: Any, *args: Any, **kwargs: Any) -> Any:
        sys.audit("open", os.fspath(filename), "r", 0)
        return opened(filename, *args, **kwargs)

    safetensors.safe_open = safetensors.torch.safe_open = announced
