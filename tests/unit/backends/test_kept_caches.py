"""Decoders whose caches stay with a runtime answer as those that are given them, and tokens are appended in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoders import write_attention_decoder, write_decoder

from irbench.core import registry
from irbench.measure.kernel_evidence import PhaseLog
from irbench.onnx.reading.signature import read
from irbench.requests.generation import GenerationRequest, generations
from irbench.spec import Artifact, Bundle, InputSpec, Io, Load
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Backend, Refusal
from irbench.worker.generation import generating_if_decoder
from irbench.worker.inference import infer

BATCH, PROMPT, NEW = 2, 5, 6
LOAD = Load(streams=1, threads=1, precision="fp32")


def generation(path: Path) -> GenerationArtifact:
    signature = read(path)
    artifact = Artifact("onnx", path, signature.inputs, signature.outputs)
    inputs = tuple(InputSpec(spec, 0.0, 1.0) for spec in artifact.inputs)
    (bundle,) = generations([Bundle("decoder", inputs, (artifact,))], GenerationRequest(NEW, (PROMPT,)))
    (made,) = bundle.artifacts
    assert isinstance(made, GenerationArtifact)
    return made


def session_of(path: Path, backend: Backend, io: Io) -> Any:
    backend.import_runtime(LOAD, "cpu")
    artifact = generation(path)
    return generating_if_decoder(backend, artifact, io).compile(artifact, LOAD, "cpu", PhaseLog())


def answers(path: Path, backend: str, io: Io, seed: int = 0) -> tuple[tuple[np.ndarray, ...], Any]:
    session = session_of(path, registry.backend(backend), io)
    (slot,) = session.open_slots(1, io)
    prompts = [np.random.default_rng(seed + turn).integers(0, 97, (BATCH, PROMPT)) for turn in (1, 0)]
    infer(slot, (prompts[0],))  # of which the next text must find nothing
    outputs = infer(slot, (prompts[1],))
    effective = session.effective
    session.close()
    return outputs, effective


def require_same(path: Path, backend: str, how: str) -> None:
    given, _ = answers(path, "ort", "copy")
    kept, effective = answers(path, backend, "bound")
    assert kept[0].tolist() == given[0].tolist()
    np.testing.assert_allclose(kept[-1], given[-1], rtol=1e-4, atol=1e-4)
    assert effective["cache"] == how
    assert effective["cache_bytes"] > 0


@pytest.mark.ci
@pytest.mark.parametrize("mask", ["float", "bool", "attribute"])
@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("backend", ["ort", "openvino"])
def test_attention_appends_to_its_cache_in_place(tmp_path: Path, backend: str, mask: str, kv_heads: int) -> None:
    require_same(write_attention_decoder(tmp_path / "d.onnx", mask, kv_heads=kv_heads), backend, "in place")


@pytest.mark.parametrize("facts", [{"mask": "open"}, {"reads_cache": True}], ids=["no causal mask", "cache read"])
def test_onnx_runtime_copies_a_cache_that_its_operator_would_read_otherwise(
    tmp_path: Path, facts: dict[str, Any]
) -> None:
    require_same(write_attention_decoder(tmp_path / "d.onnx", **facts), "ort", "copied")


@pytest.mark.ci
@pytest.mark.parametrize("backend", ["ort", "openvino"])
def test_a_graph_without_attention_keeps_its_caches_and_copies_them(tmp_path: Path, backend: str) -> None:
    require_same(write_decoder(tmp_path / "d.onnx"), backend, "copied")


def test_onnx_runtime_runs_once_copies_of_bound_inputs_have_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    calls: list[str] = []
    binding, session = onnxruntime.IOBinding, onnxruntime.InferenceSession
    for kind, name in (
        (binding, "bind_cpu_input"), (binding, "bind_ortvalue_input"), (binding, "synchronize_inputs"),
        (session, "run_with_iobinding"),
    ):  # fmt: skip
        real = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *given, name=name, real=real: (calls.append(name), real(*given))[1])
    answers(write_decoder(tmp_path / "d.onnx"), "ort", "bound")
    before_runs = {calls[place - 1] for place, name in enumerate(calls) if name == "run_with_iobinding"}
    assert before_runs == {"synchronize_inputs"}


def test_weights_in_other_files_are_found_by_the_rewritten_decoder(tmp_path: Path) -> None:
    import onnx

    path = write_attention_decoder(tmp_path / "whole.onnx")
    external = tmp_path / "external" / "d.onnx"
    external.parent.mkdir()
    onnx.save(onnx.load(path), external, save_as_external_data=True, location="d.data", size_threshold=100)
    require_same(external, "ort", "in place")


def test_a_backend_that_keeps_no_caches_says_so(tmp_path: Path) -> None:
    from irbench.onnx.evaluator import reference

    with pytest.raises(Refusal) as refused:
        session_of(write_decoder(tmp_path / "d.onnx"), reference, "bound")
    assert "--io copy" in refused.value.hint
