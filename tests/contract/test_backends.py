"""The backends of irbench keep the contract of all backends, and read back what the documents say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import models
import pytest

from irbench.core import registry
from irbench.spec import Artifact
from irbench.spi import Feed, Outputs
from irbench.testing import BackendContract
from irbench.testing.judging import Ask, imported_modules
from irbench.worker import call_in_worker

DEADLINE_S = 120
RUNTIME_MODULES = {"tensorflow", "keras", "onnxruntime", "openvino", "onnx"}
READING_RESULTS = (Path(__file__).parents[2] / "docs" / "reading-results.md").read_text()
ALWAYS_READ_BACK = {"precision", "threads", "streams", "device", "version"}
ELSEWHERE_READ_BACK = {
    *("nodes", "nodes_elsewhere", "operators_elsewhere", "bf16_nodes", "fp16_nodes"),
    *("compute_capability", "tf32_override"),
}
"""Only on a GPU, or in another precision than fp32."""


class OfIrbench(BackendContract):
    """The contract of a backend whose settings are documented."""

    def artifact(self, folder: Path) -> Artifact:
        return models.mlp(folder)  # convolutions too: kernels for these have buffers of their own

    def test_the_settings_that_it_reads_back_are_the_documented_ones(self, ask: Ask, bound: Artifact):
        documented = documented_settings(self.backend)
        read_back = set(self.effective(ask, bound, self.load))
        assert read_back - ALWAYS_READ_BACK <= documented
        assert documented - ELSEWHERE_READ_BACK <= read_back


class TestOrt(OfIrbench):
    backend = "ort"


class TestOpenVino(OfIrbench):
    backend = "openvino"


class OfTensorFlow(OfIrbench):
    """The contract of a backend that reads graphs of TensorFlow, which take seconds to make, in another process."""

    def artifact(self, folder: Path) -> Artifact:
        made: Artifact = call_in_worker("tf_models:write_dense", folder, deadline_s=DEADLINE_S)
        return made

    def expected(self, artifact: Artifact, feeds: Sequence[Feed]) -> Sequence[Outputs]:
        given: list[Outputs] = call_in_worker("contract_graphs:dense_outputs", feeds, deadline_s=DEADLINE_S)
        return given


@pytest.mark.ci
class TestTf(OfTensorFlow):
    backend = "tf"


@pytest.mark.ci
class TestTfXla(OfTensorFlow):
    backend = "tf-xla"


class OfTorch(OfIrbench):
    """The contract of a backend that reads programs of PyTorch."""

    def artifact(self, folder: Path) -> Artifact:
        made: Artifact = call_in_worker("torch_programs:write_dense", folder, deadline_s=DEADLINE_S)
        return made

    def expected(self, artifact: Artifact, feeds: Sequence[Feed]) -> Sequence[Outputs]:
        given: list[Outputs] = call_in_worker("torch_programs:outputs", artifact, feeds, deadline_s=DEADLINE_S)
        return given


@pytest.mark.torch
@pytest.mark.slow
class TestTorch(OfTorch):
    backend = "torch"


@pytest.mark.torch
@pytest.mark.slow
class TestTorchCompile(OfTorch):
    backend = "torch-compile"


@pytest.mark.jax
@pytest.mark.slow
class TestJax(OfIrbench):
    backend = "jax"
    hands_over = True

    def artifact(self, folder: Path) -> Artifact:
        made: Artifact = call_in_worker("jax_programs:write_dense", folder, deadline_s=DEADLINE_S)
        return made

    def expected(self, artifact: Artifact, feeds: Sequence[Feed]) -> Sequence[Outputs]:
        given: list[Outputs] = call_in_worker("jax_programs:outputs", artifact, feeds, deadline_s=DEADLINE_S)
        return given


def test_every_backend_of_irbench_is_held_to_the_contract():
    cases = (TestOrt, TestOpenVino, TestTf, TestTfXla, TestTorch, TestTorchCompile, TestJax)
    tested = {case.backend for case in cases}
    assert {name for name in registry.names(registry.BACKENDS) if is_of_irbench(name)} == tested


@pytest.mark.ci
def test_listing_all_backends_imports_no_runtime():
    """Neither that of each backend, as the contract says, nor what it would bring along."""
    describing = "from irbench.core import registry as r; [r.backend(n).describe() for n in r.names(r.BACKENDS)]"
    assert imported_modules(describing, besides="") & RUNTIME_MODULES == set()


def is_of_irbench(name: str) -> bool:
    brought = registry.entry_point(registry.BACKENDS, name).dist
    return brought is not None and brought.name == "irbench-onnx"


def documented_settings(backend: str) -> set[str]:
    """Return what docs/reading-results.md says that a backend reads back, besides what every backend does."""
    table = READING_RESULTS.partition("What `effective` holds besides")[2].partition("\n\n")[2].partition("\n\n")[0]
    rows = [[re.findall(r"`([\w-]+)`", cell) for cell in row.split("|")[1:3]] for row in table.splitlines()[2:]]
    return {field for backends, fields in rows if backend in backends for field in fields}
