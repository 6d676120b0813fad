"""One program in one process: its precision, its threads, and the slots that run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import metadata
from typing import Any

import torch
from torch.export.passes import move_to_device_pass
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from irbench.spec import Artifact, Io, Scalar
from irbench.spi import Feed, Outputs, Phases, Refusal, Slot
from irbench_torch.options import TorchOptions
from irbench_torch.running import as_array, as_tensor, flat_module, read_program, tensor_outputs, with_constants

_NARROW = {"bf16": torch.bfloat16, "fp16": torch.float16}
_COPIES = frozenset({"_to_copy", "copy_", "clone", "view", "alias", "detach", "t", "transpose", "permute", "expand"})
"""Operators of ATen that compute nothing."""


class _Types(TorchDispatchMode):
    """Collects the floating-point types that operators compute in."""

    def __init__(self) -> None:
        super().__init__()
        self.computed: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ not in _COPIES:
            for output in outputs if isinstance(outputs, list | tuple) else (outputs,):
                if isinstance(output, torch.Tensor) and output.is_floating_point():
                    self.computed.add(output.dtype)
        return outputs

    @property
    def precision(self) -> str:
        """The narrowest of them."""
        for name, dtype in _NARROW.items():
            if dtype in self.computed:
                return name
        return "fp64" if self.computed == {torch.float64} else "fp32"


class TorchSession:
    """A program as a module, compiled by inductor where that is asked for."""

    def __init__(self, artifact: Artifact, asked: TorchOptions, phases: Phases) -> None:
        self.asked = asked
        with phases("load"):
            self.program = read_program(artifact.path)
            if asked.device != "cpu":  # also the tensors that the program makes
                self.program = move_to_device_pass(self.program, asked.device)
            self.module: Any = flat_module(self.program)
            if asked.channels_last:
                self.module.to(memory_format=torch.channels_last)
        self._tensors = tensor_outputs(self.program)
        self.call: Any = self.module
        with phases("compile"):
            self.effective = self._first_inference(artifact)

    def _first_inference(self, artifact: Artifact) -> Mapping[str, Scalar]:
        """Run zeros once, so that everything is compiled, and return what was really used."""
        zeros = self._zeros(artifact)
        with _Types() as types:
            self.infer(self.arguments(zeros))
        precision = types.precision
        if self.asked.precision_required and precision != self.asked.precision:
            raise Refusal(
                f"The module computes in {precision} where {self.asked.precision} is asked for.",
                hint=f"Use --precision native, or --precision {precision}.",
            )
        facts: dict[str, Scalar] = {}
        if self.asked.mode is not None:
            facts = self._compile(zeros, is_dynamic=any(spec.dynamic_dimensions for spec in artifact.inputs))
        threads = torch.get_num_threads()
        return {
            "precision": precision,
            "device": self.asked.device,
            "threads": threads * self.asked.streams,
            "streams": self.asked.streams,
            "version": metadata.version("torch"),
            "inter_op_threads": torch.get_num_interop_threads(),
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "memory_format": "channels_last" if self.asked.channels_last else "contiguous",
            **facts,
        }

    def _zeros(self, artifact: Artifact) -> list[torch.Tensor]:
        """Return zeros for all inputs; a size that is dynamic, as in a decoder, is that of the exported example."""
        leaves = pytree.tree_leaves(self.program.example_inputs)
        examples = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        zeros: list[torch.Tensor] = []
        for spec, example in zip(artifact.inputs, examples, strict=True):
            sizes = zip(spec.shape, example.shape, strict=True)
            shape = [size if isinstance(size, int) else in_example for size, in_example in sizes]
            zeros.append(torch.zeros(shape, dtype=getattr(torch, spec.dtype), device=self.asked.device))
        return zeros

    def _compile(self, zeros: Sequence[torch.Tensor], *, is_dynamic: bool) -> dict[str, Scalar]:
        """Have inductor compile the module, for the shapes of an example or for those of its kind."""
        self.call = torch.compile(self.module, dynamic=is_dynamic, fullgraph=True, mode=self.asked.mode)
        try:
            self.infer(self.arguments(zeros))
        except Exception as error:
            raise Refusal(
                f"torch.compile failed: {next(iter(str(error).splitlines()), type(error).__name__)}",
                hint="Compare the backend torch, which compiles nothing.",
            ) from error
        return {"compile_mode": self.asked.mode}

    def arguments(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        """Return what the module is called with."""
        return with_constants(self.program, tensors)

    def infer(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Run one inference; it is complete on return."""
        with torch.inference_mode(), self._autocast():
            if self.asked.channels_last:
                arguments = [_channels_last(argument) for argument in arguments]
            leaves = self.call(*arguments)
        if self.asked.device != "cpu":
            torch.cuda.synchronize()
        return [leaves[place] for place in self._tensors]

    def _autocast(self) -> AbstractContextManager[Any]:
        narrow = _NARROW.get(self.asked.precision)
        autocast: AbstractContextManager[Any] = torch.autocast(self.asked.device, narrow, enabled=narrow is not None)
        return autocast

    def open_slots(self, count: int, io: Io, /) -> Sequence[Slot]:
        """Return ``count`` slots; on a GPU, unless they are bound, each run copies inputs and outputs."""
        return [_Slot(self, is_bound=io == "bound") for _ in range(count)]

    def close(self) -> None:
        """Release the module."""
        self.call = self.module = None


def _channels_last(argument: Any) -> Any:
    is_image = isinstance(argument, torch.Tensor) and argument.ndim == 4
    return argument.contiguous(memory_format=torch.channels_last) if is_image else argument


class _Slot:
    """One caller; PyTorch keeps nothing between calls, so slots share the module."""

    def __init__(self, session: TorchSession, *, is_bound: bool) -> None:
        self._session, self._is_bound = session, is_bound
        self._device = session.asked.device
        self._tensors: list[torch.Tensor] = []
        self._outputs: list[torch.Tensor] = []

    def stage(self, feed: Feed, /) -> None:
        """Wrap the arrays, which PyTorch reads where they lie; bound on a GPU, copy them there."""
        self._tensors = [as_tensor(array) for array in feed]
        if self._is_bound:
            self._tensors = [tensor.to(self._device) for tensor in self._tensors]

    def run(self) -> None:
        """Run one inference."""
        tensors = self._tensors
        if self._device != "cpu" and not self._is_bound:
            tensors = [tensor.to(self._device) for tensor in tensors]
        outputs = self._session.infer(self._session.arguments(tensors))
        self._outputs = outputs if self._is_bound else [tensor.cpu() for tensor in outputs]

    def fetch(self) -> Outputs:
        """Return the outputs of the last run; one that is an input, or a part of it, is copied."""
        staged = {tensor.untyped_storage().data_ptr() for tensor in self._tensors}
        return [
            as_array(tensor.clone() if tensor.untyped_storage().data_ptr() in staged else tensor)
            for tensor in self._outputs
        ]
