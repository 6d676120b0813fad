"""Programs of PyTorch that contracts are tried on, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from irbench.spec import Artifact
from irbench.spi import Feed, Outputs
from irbench_torch.running import as_array, as_tensor, call, read_program
from irbench_torch.sources import loaded_of
from irbench_torch.tracing import trace


def write_dense(folder: Path) -> Artifact:
    torch.manual_seed(0)
    return _written(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)), torch.rand(2, 64), folder)


def write_convolution(folder: Path) -> Artifact:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(1), nn.Linear(1152, 10))
    return _written(module, torch.rand(2, 3, 16, 16), folder)


def outputs(artifact: Artifact, feeds: Sequence[Feed]) -> list[Outputs]:
    """Return what the program answers with the structure of its arguments."""
    program = read_program(artifact.path)
    return [[as_array(tensor) for tensor in call(program, program, [*map(as_tensor, feed)])] for feed in feeds]


def nodes(artifact: Artifact) -> list[str]:
    return [node.name for node in read_program(artifact.path).graph.nodes if node.op == "call_function"]


def _written(module: nn.Module, example: torch.Tensor, folder: Path) -> Artifact:
    traced = trace(loaded_of((module, (example,)), "small", "small"), None)
    path = folder / "model.pt2"
    torch.export.save(traced.program, path)
    return Artifact("torch-export", path, traced.input_tensors, traced.outputs)
