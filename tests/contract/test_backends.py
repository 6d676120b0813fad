"""The contract every backend keeps, whoever wrote it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_contract import DEADLINE_S, ENVIRONMENT, REAL, Ask, artifact_maker, asking, installed, marked

from irbench.core import registry
from irbench.spec import Load
from irbench.worker import Worker, call_in_worker

LOAD = Load(batch=3, threads=2, streams=2)
RUNTIME_MODULES = {"tensorflow", "keras", "onnxruntime", "openvino", "onnx"}

READING_RESULTS = (Path(__file__).parents[2] / "docs" / "reading-results.md").read_text()
ALWAYS_READ_BACK = {"precision", "threads", "streams", "device", "version"}
ELSEWHERE_READ_BACK = {
    *("nodes", "nodes_elsewhere", "operators_elsewhere", "bf16_nodes", "fp16_nodes"),
    *("compute_capability", "tf32_override"),
}
"""Only on a GPU, or in another precision than fp32."""


def test_there_are_backends_to_hold_to_the_contract():
    assert set(REAL) >= {"openvino", "ort", "tf", "tf-xla"}


@pytest.fixture(scope="module", params=marked(REAL))
def backend(request: pytest.FixtureRequest) -> str:
    return installed(request.param)


@pytest.fixture(scope="module")
def ask(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Calls a function of ``contract_checks`` in this backend's own worker; every load there has the same threads."""
    with asking("contract_checks", tmp_path_factory.mktemp(backend) / "log") as call:
        yield call


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    return artifact_maker("contract_checks", tmp_path_factory)


@pytest.fixture(scope="module")
def artifact(backend: str, artifacts: Callable[[str], Any]) -> Any:
    return artifacts(registry.backend(backend).consumes[0])


@pytest.fixture(scope="module")
def expected(backend: str, artifact: Any) -> list[list[Any]]:
    """Outputs for seeds 0 and 1, from a reference that reads the same kind, or else from another backend."""
    judge = next(_judges(backend, artifact.kind), None)
    if judge is None:
        pytest.skip(f"nothing else here reads {artifact.kind}")
    arguments = (*judge, artifact, Load(batch=3), "copy", (0, 1))
    return call_in_worker("contract_checks:answers", *arguments, deadline_s=DEADLINE_S, environment=ENVIRONMENT)


def _judges(backend: str, kind: str) -> Iterator[tuple[str, str]]:
    for group, find in ((registry.REFERENCES, registry.reference), (registry.BACKENDS, registry.backend)):
        for name in registry.names(group):
            if name.startswith("fake-"):
                continue
            one = find(name)
            if name != backend and kind in one.consumes and one.describe().version is not None:
                yield group, name


def assert_close(actual: list[Any], wanted: list[Any]) -> None:
    assert len(actual) == len(wanted)
    for array, other in zip(actual, wanted, strict=True):
        assert array.dtype == other.dtype
        np.testing.assert_allclose(array, other, rtol=1e-4, atol=1e-5)


@pytest.mark.ci
def test_it_is_described_without_importing_its_runtime(backend: str):
    code = (
        "import sys; from irbench.core import registry;"
        f"d = registry.backend({backend!r}).describe();"
        "assert d.distribution and d.devices[0] == 'cpu' and (d.version or d.install), d;"
        "print(','.join({name.split('.')[0] for name in sys.modules}))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert sorted(RUNTIME_MODULES & set(printed.strip().split(","))) == []


@pytest.mark.ci
@pytest.mark.parametrize("io", ["copy", "bound"])
def test_it_answers_what_the_reference_answers(
    backend: str, ask: Ask, artifact: Any, expected: list[list[Any]], io: str
):
    (answer,) = ask("answers", registry.BACKENDS, backend, artifact, LOAD, io, (0,))
    assert_close(answer, expected[0])


@pytest.mark.parametrize("io", ["copy", "bound"])
def test_fresh_inputs_change_the_answer_and_earlier_outputs_stay_valid(
    backend: str, ask: Ask, artifact: Any, expected: list[list[Any]], io: str
):
    first, second, again = ask("answers", registry.BACKENDS, backend, artifact, LOAD, io, (0, 1, 0))
    assert_close(first, expected[0])
    assert_close(second, expected[1])
    assert_close(again, expected[0])


@pytest.mark.parametrize("io", ["copy", "bound"])
def test_slots_answer_for_themselves_when_they_are_called_at_once(
    backend: str, ask: Ask, artifact: Any, expected: list[list[Any]], io: str
):
    collected = ask("concurrent_answers", backend, artifact, LOAD, io, 20)
    assert [len(answers) for answers in collected] == [20, 20]
    for slot, answers in enumerate(collected):
        for answer in answers:
            assert_close(answer, expected[slot])


def test_a_queued_request_is_done_exactly_once(backend: str, ask: Ask, artifact: Any, expected: list[list[Any]]):
    counts, outputs = ask("queued_answers", backend, artifact, LOAD, 20)
    if not counts:
        pytest.skip(f"{backend} queues nothing")
    assert counts == [[1] * 20, [1] * 20]
    for slot, answer in enumerate(outputs):
        assert_close(answer, expected[slot])


def test_it_tells_what_it_really_uses(backend: str, ask: Ask, artifact: Any):
    effective = ask("effective", backend, artifact, LOAD)
    assert effective["precision"] == "fp32"
    assert effective["device"] == "cpu"
    assert effective["threads"] in (2, None)
    assert effective["streams"] == 2
    assert effective["version"] == registry.backend(backend).describe().version
    assert all(value is None or isinstance(value, str | int | float | bool) for value in effective.values())


def documented_settings(backend: str) -> set[str]:
    """Return what docs/reading-results.md says that a backend reads back, besides what every backend does."""
    table = READING_RESULTS.partition("What `effective` holds besides")[2].partition("\n\n")[2].partition("\n\n")[0]
    rows = [[re.findall(r"`([\w-]+)`", cell) for cell in row.split("|")[1:3]] for row in table.splitlines()[2:]]
    return {field for backends, fields in rows if backend in backends for field in fields}


def test_the_settings_that_it_reads_back_are_the_documented_ones(backend: str, ask: Ask, artifact: Any):
    documented = documented_settings(backend)
    if not documented:
        pytest.skip(f"irbench does not document what {backend} reads back")
    read_back = set(ask("effective", backend, artifact, LOAD))
    assert read_back - ALWAYS_READ_BACK <= documented
    assert documented - ELSEWHERE_READ_BACK <= read_back


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_it_computes_in_the_precision_asked_for_or_refuses_with_a_way_out(
    backend: str, ask: Ask, artifact: Any, precision: str
):
    outcome = ask("effective", backend, artifact, Load(batch=3, threads=2, streams=2, precision=precision))
    if isinstance(outcome, dict):
        assert outcome["precision"] == precision
    else:
        message, hint = outcome
        assert precision in message
        assert hint


def test_its_own_default_precision_is_shown_as_what_it_turns_out_to_be(backend: str, ask: Ask, artifact: Any):
    effective = ask("effective", backend, artifact, Load(batch=3, threads=2, streams=2, precision="native"))
    assert effective["precision"] in {"fp32", "bf16", "fp16", "tf32"}


def test_it_refuses_a_device_that_is_not_here(backend: str, ask: Ask, artifact: Any):
    message, hint = ask("effective", backend, artifact, LOAD, "abacus")
    assert message
    assert hint


def test_it_refuses_an_option_it_does_not_know(backend: str, ask: Ask, artifact: Any):
    load = Load(batch=3, threads=2, streams=2, options={"no_such_option": "1"})
    message, hint = ask("effective", backend, artifact, load)
    assert "no_such_option" in message
    assert hint


def test_it_loads_and_then_compiles_and_can_be_closed_twice(backend: str, ask: Ask, artifact: Any):
    assert ask("phases", backend, artifact, LOAD) == ["open load", "close load", "open compile", "close compile"]


@pytest.mark.ci
@pytest.mark.parametrize(("threads", "streams"), [(1, 1), (2, 2)])
def test_it_uses_no_more_processors_than_threads_were_asked_for(
    backend: str, artifact: Any, tmp_path: Path, threads: int, streams: int
):
    # a runtime whose libraries size their own pools is told by these, as it is in a run
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    with Worker(tmp_path / "log", environment={**ENVIRONMENT, **limits}) as worker:
        wide = worker.ask("contract_checks:widened", artifact, tmp_path, 256, deadline_s=DEADLINE_S)
        load = Load(batch=256, threads=threads, streams=streams)
        used, wanted = worker.ask("contract_checks:processors_used", backend, wide, load, deadline_s=DEADLINE_S)
    assert 0.0 < used <= 1.05 * threads
    if streams == 1:  # with streams a thread that was just woken may wait while the one that woke it still runs
        assert wanted <= 1.1 * threads


@pytest.mark.ci
@pytest.mark.parametrize("io", ["copy", "bound"])
def test_references_agree_with_each_other(io: str, artifacts: Callable[[str], Any]):
    answers = [
        call_in_worker(
            "contract_checks:answers",
            *(registry.REFERENCES, name, artifacts("onnx"), Load(batch=3), io, (0, 1)),
            deadline_s=DEADLINE_S,
            environment=ENVIRONMENT,
        )
        for name in registry.names(registry.REFERENCES)
    ]
    assert len(answers) >= 2
    for other in answers[1:]:
        for answer, wanted in zip(other, answers[0], strict=True):
            assert_close(answer, wanted)
