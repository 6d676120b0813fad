"""The backends of irbench keep the contract of all backends that say how long operators take."""

from __future__ import annotations

from pathlib import Path

import models
import pytest

from irbench.spec import Artifact
from irbench.testing import ProfileContract
from irbench.worker import call_in_worker

DEADLINE_S = 120


class OfIrbench(ProfileContract):
    """The contract with a model of which runtimes fuse operators, and change layouts."""

    def artifact(self, folder: Path) -> Artifact:
        return models.layers(folder)


class TestOrt(OfIrbench):
    backend = "ort"


class TestOpenVino(OfIrbench):
    backend = "openvino"


class OfTensorFlow(ProfileContract):
    """The contract with a graph of TensorFlow, which is made and read in another process."""

    def artifact(self, folder: Path) -> Artifact:
        made: Artifact = call_in_worker("tf_models:write_convolution", folder, deadline_s=DEADLINE_S)
        return made

    def nodes(self, artifact: Artifact) -> list[str]:
        named: list[str] = call_in_worker("contract_graphs:computing_nodes", artifact, deadline_s=DEADLINE_S)
        return named


@pytest.mark.ci
class TestTf(OfTensorFlow):
    backend = "tf"


@pytest.mark.ci
class TestTfXla(OfTensorFlow):
    backend = "tf-xla"


class OfTorch(ProfileContract):
    """The contract with a program of PyTorch."""

    def artifact(self, folder: Path) -> Artifact:
        made: Artifact = call_in_worker("torch_programs:write_convolution", folder, deadline_s=DEADLINE_S)
        return made


@pytest.mark.torch
@pytest.mark.slow
class TestTorch(OfTorch):
    backend = "torch"

    def nodes(self, artifact: Artifact) -> list[str]:
        named: list[str] = call_in_worker("torch_programs:nodes", artifact, deadline_s=DEADLINE_S)
        return named


@pytest.mark.torch
@pytest.mark.slow
class TestTorchCompile(OfTorch):
    backend = "torch-compile"

    def nodes(self, artifact: Artifact) -> list[str]:
        return []  # inductor's kernels are named after operators, not after nodes
