"""The contract that every backend keeps which says how long operators take, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_contract import REAL, Ask, artifact_maker, asking, installed, marked

from irbench.core import registry
from irbench.spec import Load
from irbench.spi import InferenceProfile, OperatorTime, ProfilingBackend

INFERENCES = 30
LOAD = Load(batch=2, threads=2)
MOST_OF_LATENCY = 1.2
LAYOUT = {"Cast", "Convert", "Reorder", "ReorderInput", "ReorderOutput", "Transpose", "copy", "transpose"}
PROFILING = [name for name in REAL if isinstance(registry.backend(name), ProfilingBackend)]

Profiled = tuple[list[int], list[InferenceProfile]]


def test_all_backends_of_irbench_profile():
    assert set(PROFILING) >= {"openvino", "ort", "tf", "tf-xla"}


@pytest.fixture(scope="module", params=marked(PROFILING))
def backend(request: pytest.FixtureRequest) -> str:
    return installed(request.param)


@pytest.fixture(scope="module")
def ask(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Calls a function of ``contract_profiles`` in this backend's own worker."""
    with asking("contract_profiles", tmp_path_factory.mktemp(backend) / "log") as call:
        yield call


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    return artifact_maker("contract_profiles", tmp_path_factory)


@pytest.fixture(scope="module")
def artifact(backend: str, artifacts: Callable[[str], Any]) -> Any:
    return artifacts(registry.backend(backend).consumes[0])


@pytest.fixture(scope="module")
def profiled(backend: str, ask: Ask, artifact: Any) -> Profiled:
    found: Profiled = ask("profiled", backend, artifact, LOAD, INFERENCES)
    return found


def computing(profile: InferenceProfile) -> list[OperatorTime]:
    return [operator for operator in profile.operators if not operator.is_overhead]


def test_every_inference_is_in_exactly_one_profile(profiled: Profiled):
    _, profiles = profiled
    assert sum(profile.averages for profile in profiles) == INFERENCES
    assert all(computing(profile) for profile in profiles)


def test_operators_take_time_and_no_more_than_the_inference_on_all_threads(profiled: Profiled):
    latency_ns, profiles = profiled
    threads = LOAD.threads or 1
    for profile in profiles:
        assert all(operator.duration_ns >= 0 for operator in profile.operators)
    spent_ns = sum(operator.duration_ns * each.averages for each in profiles for operator in each.operators)
    assert 0 < spent_ns < MOST_OF_LATENCY * threads * sum(latency_ns)


def test_operators_begin_within_the_inference(profiled: Profiled):
    latency_ns, profiles = profiled
    if len(profiles) != len(latency_ns):
        pytest.skip("it tells averages")
    for latency, profile in zip(latency_ns, profiles, strict=True):
        assert all(0 <= operator.start_ns <= latency for operator in profile.operators if operator.start_ns is not None)


def test_every_node_is_in_an_operator_unless_some_have_lost_their_names(
    backend: str, ask: Ask, artifact: Any, profiled: Profiled
):
    _, (first, *_) = profiled
    wanted = set(ask("labels", artifact))
    named = {node for operator in first.operators for node in operator.nodes}
    nameless = [each for each in computing(first) if not each.nodes and each.kind not in LAYOUT]
    assert named >= wanted or nameless
    assert len(named & wanted) > len(wanted) / 2


def test_operators_tell_what_they_are(profiled: Profiled):
    _, (first, *_) = profiled
    assert all(operator.name and operator.kind and operator.device == "cpu" for operator in first.operators)


def test_a_profiled_session_is_set_as_any_other(backend: str, ask: Ask, artifact: Any):
    plain, recording = ask("effective", backend, artifact, LOAD)
    assert recording == plain


def test_it_answers_the_same_while_it_records_and_in_a_session_after(backend: str, ask: Ask, artifact: Any):
    after, during = ask("answers", backend, artifact, LOAD)
    for output, recorded in zip(after, during, strict=True):
        np.testing.assert_allclose(output, recorded, rtol=1e-5, atol=1e-6)


def test_it_refuses_to_tell_of_inferences_that_it_did_not_make(backend: str, ask: Ask, artifact: Any):
    message, hint = ask("missing", backend, artifact, LOAD)
    assert "1000" in message
    assert hint


def test_it_leaves_no_files_behind(backend: str, ask: Ask, artifact: Any, tmp_path: Path):
    assert ask("files_left", backend, artifact, LOAD, tmp_path) == []
